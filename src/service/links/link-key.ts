import { randomBytes } from "node:crypto";
import { link, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { writeFileAtomically } from "../../lib/files/atomic-file.ts";

const keyBytes = 32;

/** The key that signs links. It is stored in the state directory, so links stay valid after a restart. */
export async function openLinkKey(stateDir: string): Promise<Uint8Array> {
  const path = join(stateDir, "link-key");
  const known = await read(path);
  if (known) return known;
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await writeFileAtomically(draft, `${randomBytes(keyBytes).toString("base64url")}\n`);
    // If two services start at the same time, both use the key that was stored first.
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  const made = await read(path);
  if (made) return made;
  throw new CodecellError("internal", "the key for signed links could not be stored");
}

async function read(path: string): Promise<Uint8Array | undefined> {
  const file = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (!file) return undefined;
  try {
    const stats = await file.stat();
    // The attack: another user of this machine reads the key and signs links to the files of every tenant.
    if (!stats.isFile() || (stats.mode & 0o077) !== 0) {
      throw new CodecellError("usage", `${path} can be read by others`, { hint: `chmod 600 ${path}, or remove it` });
    }
    const key = Buffer.from((await file.readFile("utf8")).trim(), "base64url");
    if (key.byteLength === keyBytes) return key;
    throw new CodecellError("usage", `${path} is not a valid key`, {
      hint: "remove it; existing links then stop working",
    });
  } finally {
    await file.close();
  }
}
