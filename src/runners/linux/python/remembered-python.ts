import { statSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { ShortMemory } from "../../../lib/files/short-memory.ts";
import type { PythonInstallation } from "./python.ts";

const belowUsr = z.string().regex(/^\/usr\/(?!.*(?:^|\/)\.\.(?:\/|$))/);
/** The path is that of directories which every cell sees. A false memory must not have anything else mounted. */
const remembered = z.strictObject({
  version: z.tuple([z.literal(3), z.int().min(9), z.int()]),
  bytecode: z.string().max(100),
  path: z.array(belowUsr).max(100),
  libc: z.string().max(100).nullable(),
  places: z.array(belowUsr).max(300),
  stamp: z.string(),
});

/** What an earlier process found out about this interpreter, if neither it nor its directories have changed since. */
export async function recallPython(memory: ShortMemory, candidate: string): Promise<PythonInstallation | undefined> {
  const executable = await realpath(candidate).catch(() => "");
  if (!belowUsr.safeParse(executable).success) return undefined;
  const known = remembered.safeParse((await memory.recall(candidate))?.value);
  if (!known.success) return undefined;
  const { version, bytecode, path, places, stamp, libc } = known.data;
  if (stampOf([executable, ...places]) !== stamp) return undefined;
  return {
    executable,
    executableInside: executable,
    version,
    bytecode,
    mounts: [],
    path,
    ...(libc === null ? {} : { libc }),
  };
}

/** Only an interpreter below /usr that needs no mounts is remembered, because its cells see nothing that others do not. */
export async function rememberPython(memory: ShortMemory, candidate: string, found: PythonInstallation): Promise<void> {
  const { executable, version, bytecode, path, mounts, libraryPath, libc = null } = found;
  const isPlain = mounts.length === 0 && libraryPath === undefined;
  if (!isPlain || (await realpath(candidate).catch(() => "")) !== executable) return;
  // A new directory or .pth file changes the path, and the time of the directory that it is in.
  const name = `python${version.slice(0, 2).join(".")}`;
  const usual = ["/usr/local/lib", join("/usr/local/lib", name), join("/usr/lib", name), "/usr/lib/python3"];
  const places = [...new Set([...usual, ...path, ...path.map(dirname)])].filter((one) => one.startsWith("/usr/"));
  await memory.remember(candidate, { version, bytecode, path, libc, places, stamp: stampOf([executable, ...places]) });
}

function stampOf(places: readonly string[]): string {
  const one = (place: string) => {
    const found = statOf(place);
    return found ? `${found.ino}:${found.size}:${found.mtimeMs}` : "absent";
  };
  return places.map(one).join(" ");
}

function statOf(place: string) {
  try {
    return statSync(place);
  } catch {
    return undefined;
  }
}
