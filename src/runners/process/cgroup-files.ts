import { readFileSync } from "node:fs";
import { chown, mkdir, readFile, rmdir, writeFile } from "node:fs/promises";

/** The few file operations that control groups need; tests put a make-believe kernel behind them. */
export interface CgroupFiles {
  read(path: string): Promise<string>;
  /** For counters, which never wait for anything: a hundredth of what the asynchronous call costs after each run. */
  readNow(path: string): string;
  write(path: string, text: string): Promise<void>;
  mkdir(path: string): Promise<void>;
  rmdir(path: string): Promise<void>;
  chown(path: string, uid: number): Promise<void>;
}

/**
 * Never the synchronous calls to change anything: a write to cgroup.procs waits for a grace period of the kernel, tens of milliseconds
 * under load, and would hold every other session meanwhile.
 */
export const realCgroupFiles: CgroupFiles = {
  read: (path) => readFile(path, "utf8"),
  readNow: (path) => readFileSync(path, "utf8"),
  write: (path, text) => writeFile(path, text, { flag: "r+" }),
  mkdir: async (path) => void (await mkdir(path, { mode: 0o755 })),
  rmdir: (path) => rmdir(path),
  chown: (path, uid) => chown(path, uid, uid),
};

/** The system's word for a failed file operation, such as EBUSY. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** A counter's text, or "" where there is none. */
export function readCounter(path: string, files: CgroupFiles): string {
  try {
    return files.readNow(path);
  } catch {
    return "";
  }
}

/** The file's text, or "" where there is none. */
export function readOptional(path: string, files: CgroupFiles): Promise<string> {
  return files.read(path).catch(() => "");
}
