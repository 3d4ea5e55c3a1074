import { randomBytes } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDirectory } from "./sync-directory.ts";

/**
 * Replaces a file by a whole new one: whoever reads it, also after a power cut, finds the old or the new content, and a
 * full disk leaves the old one.
 */
export async function writeFileAtomically(path: string, data: string | AsyncIterable<Uint8Array>): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString("hex")}.draft`;
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      if (typeof data === "string") await file.writeFile(data);
      else for await (const piece of data) await writeWhole(file, piece);
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

/** A nearly full disk takes a part of what it is given and calls that a success. */
async function writeWhole(file: FileHandle, data: Uint8Array): Promise<void> {
  for (let at = 0; at < data.byteLength; ) at += (await file.write(data, at)).bytesWritten;
}
