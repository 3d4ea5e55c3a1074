import { open } from "node:fs/promises";

/** Syncs the entries of a directory to disk: without it, a synced file can lose its name in a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
