import { closeSync, constants, fstatSync, openSync, renameSync, type Stats, statSync, writeSync } from "node:fs";
import { CodecellError, messageOf } from "../errors.ts";

export interface LogFileOptions {
  /** the file is rotated at this size; default 16 MiB */
  readonly maxBytes?: number;
  /** number of rotated files; `FILE.1` is the newest; default 4 */
  readonly keptFiles?: number;
  /** called once when writing fails, until it works again */
  readonly onProblem?: (message: string) => void;
  /** the line that reports how many could not be written */
  readonly lostLine?: (count: number) => string;
}

const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * A file to which several processes can append lines. It is looked up by name before each line, so logrotate can move or remove
 * it without a signal. A line that cannot be written is counted, and the count is written when it works again. Logging never
 * blocks.
 */
export class LogFile implements Disposable {
  readonly path: string;
  readonly #maxBytes: number;
  readonly #keptFiles: number;
  readonly #onProblem: (message: string) => void;
  readonly #lostLine: (count: number) => string;
  #opened: { readonly fd: number; readonly ino: number; readonly dev: number } | undefined;
  #lost = 0;
  /** a full disk cut off a line */
  #isTorn = false;
  #isClosed = false;

  constructor(path: string, options: LogFileOptions = {}) {
    this.path = path;
    this.#maxBytes = options.maxBytes ?? 16 * 1024 * 1024;
    this.#keptFiles = options.keptFiles ?? 4;
    this.#onProblem = options.onProblem ?? (() => {});
    this.#lostLine = options.lostLine ?? ((count) => `${count} messages could not be written\n`);
    this.#open(); // fail at once if the file cannot be used
  }

  write(line: string): void {
    if (this.#isClosed) return;
    try {
      const found = statSync(this.path, { throwIfNoEntry: false });
      if (found && this.#isOurs(found) && found.size > 0 && found.size + line.length > this.#maxBytes) this.#rotate();
      else if (!found || !this.#isOurs(found)) this.#reopen();
      if (this.#lost > 0) this.#append(`${this.#isTorn ? "\n" : ""}${this.#lostLine(this.#lost)}`);
      this.#lost = 0;
      this.#append(line);
    } catch (error) {
      if (this.#lost++ === 0) this.#onProblem(`the log ${this.path} cannot be written: ${messageOf(error)}`);
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#close();
  }

  #isOurs({ ino, dev }: Stats): boolean {
    return this.#opened?.ino === ino && this.#opened.dev === dev;
  }

  #append(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#opened === undefined) throw new Error("it is not open");
    // One call, so that lines of several processes are not interleaved.
    const written = writeSync(this.#opened.fd, bytes);
    this.#isTorn = written < bytes.length || (this.#isTorn && written === 0);
    if (this.#isTorn) throw new Error("there is no space left on the disk");
  }

  /** Two processes that rotate at the same moment move a file twice: old messages are removed early, none is corrupted. */
  #rotate(): void {
    for (let number = this.#keptFiles - 1; number >= 0; number--) {
      const from = number === 0 ? this.path : `${this.path}.${number}`;
      try {
        renameSync(from, `${this.path}.${number + 1}`);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
    }
    this.#reopen();
  }

  #reopen(): void {
    this.#close();
    this.#isTorn = false;
    this.#open();
  }

  #open(): void {
    const fd = this.#descriptor();
    const found = fstatSync(fd);
    const refuse = (why: string, hint: string): never => {
      closeSync(fd);
      throw new CodecellError("usage", `the log cannot be written to ${this.path}: ${why}`, { hint });
    };
    if (!found.isFile()) refuse("it is not a regular file", "choose a file, or leave it out to log to stderr");
    // The attack: another user creates the file first, to read or write it.
    if (found.uid !== process.getuid?.()) refuse("it belongs to another user", "choose a file of your own");
    if (isStandardOutput(found)) refuse("it is standard output, which is reserved for results", "choose another file");
    this.#opened = { fd, ino: found.ino, dev: found.dev };
  }

  #descriptor(): number {
    try {
      return openSync(this.path, flags, 0o600);
    } catch (error) {
      const isLink = (error as NodeJS.ErrnoException).code === "ELOOP";
      const why = isLink ? "it is a link" : messageOf(error);
      throw new CodecellError("usage", `the log cannot be written to ${this.path}: ${why}`, {
        hint: "choose a file in an existing, writable directory",
        cause: error,
      });
    }
  }

  #close(): void {
    if (this.#opened !== undefined) closeSync(this.#opened.fd);
    this.#opened = undefined;
  }
}

function isStandardOutput({ ino, dev }: Stats): boolean {
  try {
    const standard = fstatSync(1);
    return standard.isFile() && standard.ino === ino && standard.dev === dev;
  } catch {
    return false;
  }
}
