import { randomBytes } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDirectory } from "./sync-directory.ts";

/** What a file that replaces another one takes over from it: its `Stats`, for example. */
export interface FileLike {
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Replaces a file atomically: a reader sees the old or the new content, also after a power cut. A full disk leaves the old one.
 * Only the owner can read it, unless `like` says something else. The attack on a change of permissions by path, afterwards: who may
 * write the directory puts a link to another file of ours there. So it all happens before the file has its name.
 */
export async function writeFileAtomically(
  path: string,
  data: string | AsyncIterable<Uint8Array>,
  like?: FileLike,
): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString("hex")}.draft`;
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      if (typeof data === "string") await file.writeFile(data);
      else for await (const piece of data) await writeWhole(file, piece);
      if (like !== undefined) await takeOver(file, like);
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

async function takeOver(file: FileHandle, { mode, uid, gid }: FileLike): Promise<void> {
  const own = await file.stat();
  // Only root may give files away; for others the new file is theirs.
  if (uid !== undefined && gid !== undefined && (own.uid !== uid || own.gid !== gid)) {
    await file.chown(uid, gid).catch(() => {});
  }
  await file.chmod(mode & 0o777);
}

/** On a nearly full disk a write can succeed with fewer bytes than it was given. */
async function writeWhole(file: FileHandle, data: Uint8Array): Promise<void> {
  for (let at = 0; at < data.byteLength; ) at += (await file.write(data, at)).bytesWritten;
}
