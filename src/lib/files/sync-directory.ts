import { open } from "node:fs/promises";

/** Has the names in a directory on disk for good: a file that was synced alone can be nameless after a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
