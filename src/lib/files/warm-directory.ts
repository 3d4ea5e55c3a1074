import { lstatSync } from "node:fs";
import { join } from "node:path";
import { privateRuntimePath } from "./runtime-path.ts";

/**
 * Where processes that hold warm cells listen. Undefined: nowhere, because programs are often given all of /tmp, and whoever
 * reaches these sockets can run programs under the policy of another call.
 */
export function warmDirectory(
  uid = process.getuid?.() ?? 0,
  runtime = process.env.XDG_RUNTIME_DIR,
): string | undefined {
  const path = privateRuntimePath(uid, runtime);
  return path && join(path, "warm");
}

/** Why a socket must not be used; undefined: it belongs to this user, and only this user can replace it. */
export function socketProblem(path: string, uid = process.getuid?.() ?? 0): "absent" | "foreign" | undefined {
  // The attack: another user puts a socket or a link here, and reads the code and the input that callers send.
  const directory = join(path, "..");
  const places = [
    { facts: lstatOf(join(directory, "..")), isRight: (mode: number) => (mode & 0o170022) === 0o040000 },
    { facts: lstatOf(directory), isRight: (mode: number) => (mode & 0o170077) === 0o040000 },
    { facts: lstatOf(path), isRight: (mode: number) => (mode & 0o170077) === 0o140000 },
  ];
  for (const { facts, isRight } of places) {
    if (facts === undefined) return "absent";
    if (facts.uid !== uid || !isRight(facts.mode)) return "foreign";
  }
  return undefined;
}

function lstatOf(path: string) {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}
