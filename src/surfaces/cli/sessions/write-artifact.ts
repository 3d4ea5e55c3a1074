import { constants, type Stats, statSync } from "node:fs";
import { access, type FileHandle, lstat, open, realpath, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { writeFileAtomically } from "../../../lib/files/atomic-file.ts";
import { hostMounts } from "../../../lib/files/mountinfo.ts";
import { SafeText } from "../format/text/safe-text.ts";
import type { Output } from "../shell/terminal.ts";

interface WriteOptions {
  readonly force: boolean;
  readonly signal: AbortSignal;
}

/** Writes bytes to stdout: raw to a pipe, escaped text to a terminal. Refuses binary data on a terminal. */
export async function writeToOutput(
  data: AsyncIterable<Uint8Array>,
  output: Output,
  { force, signal }: WriteOptions,
): Promise<void> {
  const terminal = output.isTTY && !force ? new TerminalText(output) : undefined;
  for await (const bytes of data) {
    signal.throwIfAborted();
    if (terminal) await terminal.write(bytes);
    else await output.writeBytes(bytes);
  }
  await terminal?.end();
}

/** Writes bytes to a file of the host, whole or not at all. Replaces a file only if forced: until all bytes are there, the old one stays. */
export async function writeToFile(
  data: AsyncIterable<Uint8Array>,
  path: string,
  { force, signal, shown }: WriteOptions & { readonly shown: string },
): Promise<number> {
  let written = 0;
  const counted = async function* () {
    for await (const bytes of data) {
      signal.throwIfAborted();
      written += bytes.byteLength;
      yield bytes;
    }
  };
  const entry = force ? await lstat(path).catch(() => undefined) : undefined;
  const old = entry && (await stat(path).catch(() => undefined)); // a link may lead nowhere
  if (old?.isFile()) await replaceFile(await realpath(path), counted(), old, shown);
  else await writeInPlace(await openTarget(path, entry !== undefined, shown), counted(), entry ? undefined : path);
  return written;
}

/** A failure of the source, or of a full disk, passes as it is. */
async function replaceFile(path: string, data: AsyncIterable<Uint8Array>, old: Stats, shown: string): Promise<void> {
  const isDirectoryWritable = await access(dirname(path), constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  // A file that is mounted, as in containers, can be written but not replaced.
  const isMounted = (await hostMounts()).some(({ point }) => point === path);
  if (!isDirectoryWritable || isMounted) {
    await writeInPlace(await openTarget(path, true, shown), data, undefined);
    return;
  }
  await writeFileAtomically(path, data, old).catch((cause: NodeJS.ErrnoException) => {
    const isOfTheTarget = ["EACCES", "EPERM", "EROFS", "EBUSY"].includes(cause.code ?? "");
    throw isOfTheTarget && ["open", "rename"].includes(cause.syscall ?? "") ? cannotWrite(shown, cause) : cause;
  });
}

/** Writes a new file, or something that is no file, such as a device or a pipe. `own`: the path to remove after a failure. */
async function writeInPlace(file: FileHandle, data: AsyncIterable<Uint8Array>, own: string | undefined): Promise<void> {
  try {
    for await (const bytes of data) await file.writeFile(bytes); // appends to the previous write
    await file.close();
  } catch (error) {
    await file.close().catch(() => {});
    if (own !== undefined) await rm(own, { force: true }); // `wx` created it, so it is ours
    throw error;
  }
}

async function openTarget(path: string, exists: boolean, shown: string): Promise<FileHandle> {
  try {
    return await open(path, exists ? "w" : "wx");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "EEXIST" && !statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      throw new CodecellError("usage", `${shown} already exists`, { hint: "use --force to overwrite it", cause });
    }
    throw cannotWrite(shown, cause);
  }
}

function cannotWrite(shown: string, cause: unknown): CodecellError {
  const reasons: Record<string, string> = {
    ENOENT: "is in a directory that does not exist",
    ENOTDIR: "has a parent that is not a directory",
    EISDIR: "is a directory",
    EEXIST: "is a directory",
  };
  const { code } = cause as NodeJS.ErrnoException;
  return new CodecellError("usage", `${shown} ${reasons[code ?? ""] ?? "cannot be written"}`, { cause });
}

/** Untrusted text on a terminal: escape sequences are made visible, and binary data is refused at the start. */
class TerminalText {
  readonly #output: Output;
  readonly #decoder = new TextDecoder();
  readonly #safe = new SafeText();
  #isFirst = true;

  constructor(output: Output) {
    this.#output = output;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#isFirst && !isText(bytes)) {
      throw new CodecellError("usage", "the file is not text, and stdout is a terminal", {
        hint: "write it with --output FILE, send it through a pipe, or add --force",
      });
    }
    this.#isFirst = false;
    await this.#print(this.#safe.push(this.#decoder.decode(bytes, { stream: true })));
  }

  async end(): Promise<void> {
    await this.#print(this.#safe.push(this.#decoder.decode()) + this.#safe.end());
  }

  async #print(text: string): Promise<void> {
    if (text !== "") await this.#output.writeBytes(Buffer.from(text));
  }
}

function isText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    // `stream`: a character may be split at the end of the chunk
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
