import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectories } from "../../../lib/files/make-directories.ts";
import { identityTexts } from "../../linux/identity-texts.ts";
import type { Engine } from "../engine/engine.ts";

/** The uid and gid of a cell's programs inside the container. */
export interface ContainerUser {
  readonly uid: number;
  readonly gid: number;
}

/** Never root of the host: codecell's own uid or, if codecell runs as root, `privateUid`, which nobody else has. */
export function containerUser({ isRootless }: Engine, privateUid: number | undefined): ContainerUser {
  // In a rootless engine, root is the user who runs the engine. Another uid could not write to this user's files.
  if (isRootless) return { uid: 0, gid: 0 };
  const uid = privateUid ?? process.getuid?.() ?? 65_534;
  return { uid, gid: process.getuid?.() === 0 ? uid : (process.getgid?.() ?? uid) };
}

/** Writes the files of /etc that describe the user into a host directory. */
export async function writeIdentity(below: string, { uid, gid }: ContainerUser): Promise<string> {
  const directory = join(below, `etc-${uid}`);
  await makeDirectories(directory, 0o755);
  for (const [name, text] of Object.entries(identityTexts({ uid, gid })))
    await writeFile(join(directory, name), text, { mode: 0o644 });
  return directory;
}
