import { statSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { CodecellError } from "../../../lib/errors.ts";
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

/** Writes bytes to a file of the host. Overwrites a file only if forced; removes an incomplete file. */
export async function writeToFile(
  data: AsyncIterable<Uint8Array>,
  path: string,
  { force, signal, shown }: WriteOptions & { readonly shown: string },
): Promise<number> {
  const file = await openTarget(path, force, shown);
  let written = 0;
  try {
    for await (const bytes of data) {
      signal.throwIfAborted();
      await file.writeFile(bytes); // appends to the previous write
      written += bytes.byteLength;
    }
    await file.close();
  } catch (error) {
    await file.close().catch(() => {});
    if (!force) await rm(path, { force: true }); // `wx` created it, so it is ours
    throw error;
  }
  return written;
}

async function openTarget(path: string, force: boolean, shown: string): Promise<FileHandle> {
  try {
    return await open(path, force ? "w" : "wx");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "EEXIST" && !statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      throw new CodecellError("usage", `${shown} already exists`, { hint: "use --force to overwrite it", cause });
    }
    const reasons: Record<string, string> = {
      ENOENT: "is in a directory that does not exist",
      ENOTDIR: "has a parent that is not a directory",
      EISDIR: "is a directory",
      EEXIST: "is a directory",
    };
    throw new CodecellError("usage", `${shown} ${reasons[code ?? ""] ?? "cannot be written"}`, { cause });
  }
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
