import { statSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { CodecellError } from "../../../lib/errors.ts";
import { SafeText } from "../format/safe-text.ts";
import type { Output } from "../shell/terminal.ts";

interface WriteOptions {
  readonly force: boolean;
  readonly signal: AbortSignal;
}

/** Bytes to stdout: as they are to a pipe; to a terminal as safe text, or not at all. */
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

/** Bytes to a file of the host. What is there stays, unless forced; a file that was begun and failed is removed. */
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
      await file.writeFile(bytes); // goes on where the last one ended
      written += bytes.byteLength;
    }
    await file.close();
  } catch (error) {
    await file.close().catch(() => {});
    if (!force) await rm(path, { force: true }); // with `wx` it is certainly ours
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
      throw new CodecellError("usage", `${shown} exists already`, { hint: "--force replaces it", cause });
    }
    const reasons: Record<string, string> = {
      ENOENT: "lies in a directory that does not exist",
      ENOTDIR: "lies below something that is not a directory",
      EISDIR: "is a directory",
      EEXIST: "is a directory",
    };
    throw new CodecellError("usage", `${shown} ${reasons[code ?? ""] ?? "cannot be written"}`, { cause });
  }
}

/** A file of a stranger on a terminal: escape sequences are made visible, and what is no text is refused at its start. */
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
    // a character that is cut at the end of the piece is no fault
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
