import { closeSync, openSync, readSync } from "node:fs";
import { chown, mkdir, readFile, rmdir, writeFile } from "node:fs/promises";

/** A control file that stays open, so that reading it takes a microsecond and never blocks. */
export interface Counter extends Disposable {
  /** "" if the group was removed */
  read(): string;
}

/** The file operations that cgroups need. Tests replace them with a fake. */
export interface CgroupFiles {
  read(path: string): Promise<string>;
  /** Opens a counter, which is read after every run. */
  openCounter(path: string): Counter;
  write(path: string, text: string): Promise<void>;
  mkdir(path: string): Promise<void>;
  rmdir(path: string): Promise<void>;
  chown(path: string, uid: number): Promise<void>;
}

const counterBytes = Buffer.alloc(8192);

/**
 * Changes are asynchronous. A write to cgroup.procs waits for an RCU grace period of the Linux kernel, tens of milliseconds
 * under load, and a synchronous call would block every other session meanwhile.
 */
export const realCgroupFiles: CgroupFiles = {
  read: (path) => readFile(path, "utf8"),
  openCounter,
  write: (path, text) => writeFile(path, text, { flag: "r+" }),
  mkdir: async (path) => void (await mkdir(path, { mode: 0o755 })),
  rmdir: (path) => rmdir(path),
  chown: (path, uid) => chown(path, uid, uid),
};

/** The error code of a failed file operation, such as EBUSY. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function openCounter(path: string): Counter {
  const fd = openSync(path, "r");
  return {
    read() {
      try {
        return counterBytes.toString("latin1", 0, readSync(fd, counterBytes, 0, counterBytes.length, 0));
      } catch {
        return "";
      }
    },
    [Symbol.dispose]: () => closeSync(fd),
  };
}

/** The counters of one cell's groups, each opened on first use. */
export class Counters implements Disposable {
  readonly #files: CgroupFiles;
  readonly #opened = new Map<string, Counter>();
  #isClosed = false;

  constructor(files: CgroupFiles) {
    this.#files = files;
  }

  /** The counter's text, or "" if it does not exist. */
  read(path: string): string {
    const opened = this.#opened.get(path);
    if (opened) return opened.read();
    if (this.#isClosed) return "";
    try {
      const counter = this.#files.openCounter(path);
      this.#opened.set(path, counter);
      return counter.read();
    } catch {
      return "";
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const counter of this.#opened.values()) counter[Symbol.dispose]();
    this.#opened.clear();
  }
}

/** The file's text, or "" if it does not exist. */
export function readOptional(path: string, files: CgroupFiles): Promise<string> {
  return files.read(path).catch(() => "");
}
