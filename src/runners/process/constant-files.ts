import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ClosedEntries, makeClosedEntries } from "../linux/mounts/closed-entries.ts";
import { identityFiles } from "./identity-files.ts";

/** Files and directories that are the same in every cell. Cells see them through read-only mounts. */
export interface ConstantFiles extends ClosedEntries {
  readonly identityDirectory: string;
  readonly emptyFile: string;
  readonly emptyDirectory: string;
}

/** Creates them below a directory of codecell's own. Synchronous: a dozen small files take 0.5 ms so, and 5 ms through the thread pool. */
export function makeConstantFiles(below: string): ConstantFiles {
  const files = constantFilesIn(below);
  mkdirSync(files.identityDirectory, { mode: 0o755 });
  mkdirSync(files.emptyDirectory, { mode: 0o755 });
  writeFileSync(files.emptyFile, "", { mode: 0o444 });
  makeClosedEntries(below);
  for (const [name, text] of Object.entries(identityFiles))
    writeFileSync(join(files.identityDirectory, name), text, { mode: 0o444 });
  return files;
}

/**
 * The files that an earlier process created, or new ones for later processes too: creating and removing them costs a command
 * 5 ms. For processes that start one cell: later ones remove what nobody has used for long (`removeOldKernels`).
 */
export function shareConstantFiles(runtimeDir: string): ConstantFiles {
  const version = createHash("sha256").update(JSON.stringify(identityFiles)).digest("hex").slice(0, 16);
  const shared = join(runtimeDir, `constant-${version}`);
  if (existsSync(shared)) {
    const now = Date.now() / 1000;
    utimesSync(shared, now, now);
    return constantFilesIn(shared);
  }
  // Renamed when complete, so that no other process uses a part of them.
  const draft = join(runtimeDir, `draft-${randomBytes(6).toString("hex")}`);
  mkdirSync(draft, { mode: 0o711 });
  makeConstantFiles(draft);
  try {
    renameSync(draft, shared);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(shared)) throw error; // else another process was faster
  }
  return constantFilesIn(shared);
}

function constantFilesIn(directory: string): ConstantFiles {
  return {
    ...{ identityDirectory: join(directory, "etc"), emptyDirectory: join(directory, "empty") },
    ...{ emptyFile: join(directory, "empty-file"), closedFile: join(directory, "closed-file") },
    closedDirectory: join(directory, "closed"),
  };
}
