import { randomBytes } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDirectory } from "./sync-directory.ts";

/**
 * Replaces a file atomically: a reader sees the old or the new content, also after a power cut. A full disk leaves the old one.
 * Only the owner can read it, unless `mode` says something else.
 */
export async function writeFileAtomically(
  path: string,
  data: string | AsyncIterable<Uint8Array>,
  mode?: number,
): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString("hex")}.draft`;
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      if (typeof data === "string") await file.writeFile(data);
      else for await (const piece of data) await writeWhole(file, piece);
      if (mode !== undefined) await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncDirectory(dirname(path));
}

/** On a nearly full disk a write can succeed with fewer bytes than it was given. */
async function writeWhole(file: FileHandle, data: Uint8Array): Promise<void> {
  for (let at = 0; at < data.byteLength; ) at += (await file.write(data, at)).bytesWritten;
}
