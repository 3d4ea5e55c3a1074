import { constants } from "node:fs";
import { open, opendir } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { denyMatcher } from "../../../policy/paths/deny.ts";
import { findDenied } from "../../../policy/paths/find-denied.ts";
import { resolveSource } from "../../../policy/paths/host-source.ts";
import type { Session } from "../../../sessions/session.ts";
import { formatBytes } from "../format/text/format-bytes.ts";

const limits = { files: 1_000, bytes: 32 * 1024 * 1024 } as const;
/** Large directories that no program reads as its input. */
const skipped: ReadonlySet<string> = new Set(["node_modules", "__pycache__"]);

/**
 * Copies a project into the memory of a cell that cannot mount it, under the same deny globs. Hidden entries, `node_modules`,
 * `__pycache__` and links are left out.
 */
export async function copyProject(session: Session, projectDir: string): Promise<void> {
  const matcher = denyMatcher(session.policy.fs.deny);
  const root = await resolveSource({ rule: "--project", path: projectDir, writable: false }, matcher);
  const denied = new Set(await findDenied(root, matcher));
  const names: string[] = [];
  await collect(root, "", denied, names);
  let bytes = 0;
  const contents: { name: string; data: Buffer }[] = [];
  // Everything is read before anything is sent: a project that is too large leaves no half behind.
  for (const name of names) {
    const data = await readRegular(join(root, name), limits.bytes - bytes);
    if (data === undefined) continue;
    bytes += data.byteLength;
    contents.push({ name, data });
  }
  for (const { name, data } of contents) await session.upload(name, data);
}

async function collect(root: string, directory: string, denied: ReadonlySet<string>, names: string[]): Promise<void> {
  for await (const entry of await opendir(join(root, directory))) {
    const name = join(directory, entry.name);
    if (entry.name.startsWith(".") || skipped.has(entry.name) || denied.has(name)) continue;
    if (entry.isDirectory()) await collect(root, name, denied, names);
    else if (entry.isFile()) names.push(name);
    if (names.length > limits.files) throw tooLarge(`more than ${limits.files} files`);
  }
}

/** Undefined: it is not a regular file any more. The attack: a link or a named pipe that replaces it meanwhile. */
async function readRegular(path: string, maxBytes: number): Promise<Buffer | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const facts = await file.stat();
    if (!facts.isFile()) return undefined;
    if (facts.size > maxBytes) throw tooLarge(`more than ${formatBytes(limits.bytes)}`);
    const buffer = Buffer.alloc(facts.size);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function tooLarge(what: string): CodecellError {
  return new CodecellError("too_large", `the project has ${what}, and the wasm runner has to copy it into memory`, {
    hint: "name a smaller directory, or use another runner, which mounts the directory",
  });
}
