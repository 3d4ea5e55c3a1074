import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { deletedFilesScript } from "./deleted-files-script.ts";

/** What cells hold of the deleted files of a directory: they take up space until the last descriptor is closed. */
export interface DeletedFiles {
  /** allocated bytes */
  readonly bytes: number;
  /** false if a process may hold files that could not be measured, such as a descriptor on its way through a socket */
  readonly isComplete: boolean;
}

const timeoutMs = 5_000;

/** Counts the deleted files of a directory that processes in other mount namespaces hold open. Never throws. */
export async function countDeletedFiles(directory: string, python: string): Promise<DeletedFiles> {
  try {
    const limits = { env: {}, cwd: "/", timeout: timeoutMs, killSignal: "SIGKILL" } as const;
    const { stdout } = await promisify(execFile)(python, ["-I", "-S", "-c", deletedFilesScript, directory], limits);
    const [, bytes, seen] = /^(\d+) (seen|unseen)\n$/.exec(stdout) ?? [];
    return { bytes: Number(bytes ?? 0), isComplete: seen === "seen" };
  } catch {
    return { bytes: 0, isComplete: false };
  }
}
