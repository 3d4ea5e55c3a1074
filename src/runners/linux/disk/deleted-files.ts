import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { deletedFilesScript } from "./deleted-files-script.ts";

/**
 * How much of it a count saw. `partial`: a process may hold files that could not be measured. `parked`: descriptors stay in a socket
 * of the cell, where nobody can open them. One that is really on its way is received long before the count looks again.
 */
export type CountCoverage = "complete" | "partial" | "parked";

/** What cells hold of the deleted files of a directory: they take up space until the last descriptor is closed. */
export interface DeletedFiles {
  /** allocated bytes */
  readonly bytes: number;
  readonly coverage: CountCoverage;
}

const timeoutMs = 5_000;

/** Counts the deleted files of a directory that processes in other mount namespaces hold open. Never throws. */
export async function countDeletedFiles(directory: string, python: string): Promise<DeletedFiles> {
  try {
    const limits = { env: {}, cwd: "/", timeout: timeoutMs, killSignal: "SIGKILL" } as const;
    const { stdout } = await promisify(execFile)(python, ["-I", "-S", "-c", deletedFilesScript, directory], limits);
    const [, bytes, coverage] = /^(\d+) (complete|partial|parked)\n$/.exec(stdout) ?? [];
    return { bytes: Number(bytes ?? 0), coverage: (coverage as CountCoverage | undefined) ?? "partial" };
  } catch {
    return { bytes: 0, coverage: "partial" };
  }
}
