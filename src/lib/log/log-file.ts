import { closeSync, constants, fstatSync, openSync, renameSync, type Stats, statSync, writeSync } from "node:fs";
import { CodecellError, messageOf } from "../errors.ts";

export interface LogFileOptions {
  /** the file is moved aside at this size; default 16 MiB */
  readonly maxBytes?: number;
  /** what is moved aside is kept so often: `FILE.1` is the newest; default 4 */
  readonly keptFiles?: number;
  /** told once that it cannot be written, until it can again */
  readonly onProblem?: (message: string) => void;
  /** the line that tells how many could not be written */
  readonly lostLine?: (count: number) => string;
}

const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * A file that lines are appended to, by several processes if they like. It is looked for by its name before each line, so
 * whoever moves or removes it, such as logrotate, need not tell anybody. A line that cannot be written is counted and told
 * when it works again; nobody waits for a log.
 */
export class LogFile implements Disposable {
  readonly path: string;
  readonly #maxBytes: number;
  readonly #keptFiles: number;
  readonly #onProblem: (message: string) => void;
  readonly #lostLine: (count: number) => string;
  #opened: { readonly fd: number; readonly ino: number; readonly dev: number } | undefined;
  #lost = 0;
  /** a full disk took a part of a line */
  #isTorn = false;
  #isClosed = false;

  constructor(path: string, options: LogFileOptions = {}) {
    this.path = path;
    this.#maxBytes = options.maxBytes ?? 16 * 1024 * 1024;
    this.#keptFiles = options.keptFiles ?? 4;
    this.#onProblem = options.onProblem ?? (() => {});
    this.#lostLine = options.lostLine ?? ((count) => `${count} messages could not be written\n`);
    this.#open(); // a name that cannot be used is told at once
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
    // One call, so that lines of several processes do not mix.
    const written = writeSync(this.#opened.fd, bytes);
    this.#isTorn = written < bytes.length || (this.#isTorn && written === 0);
    if (this.#isTorn) throw new Error("there is no space left on the disk");
  }

  /** Two processes that do this in the same moment move one file twice: old messages go early, none is mixed up. */
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
    if (!found.isFile()) refuse("it is not a regular file", "name a file, or leave it out: stderr is the default");
    // Stops another user of the machine who made the file first, to read it or to write it.
    if (found.uid !== process.getuid?.()) refuse("it belongs to somebody else", "name a file of your own");
    if (isStandardOutput(found)) refuse("it is standard output, which belongs to programs", "name another file");
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
