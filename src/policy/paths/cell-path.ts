import { posix } from "node:path";
import { isBelow } from "./host-path.ts";

/** Directories of the cell that a mount would break or subvert, including everything below them. */
const reservedTrees = ["usr", "bin", "sbin", "proc", "sys", "dev", "etc", "run", "tmp", "var", "boot", "root", "deps"];

/** Why a mount may not have this path inside the cell, or undefined. */
export function targetProblem(target: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\u0000-\u001f\u007f]/.test(target)) return "a path cannot contain control characters";
  if (!target.startsWith("/")) return "expected an absolute path inside the cell, such as /data";
  const path = normalTarget(target);
  if (path !== target && `${path}/` !== target) return `expected the plain path ${path}`;
  if (path === "/") return "/ is the cell's own root";
  if (path === "/workspace") return "/workspace is set by fs.workspace; /workspace/data is possible";
  const top = path.split("/")[1] ?? "";
  if (top.startsWith(".")) return `/${top} is reserved for the cell's kernel`;
  // The attack: a mount replaces the interpreter, loader or account file that was checked.
  if (reservedTrees.includes(top) || top.startsWith("lib")) return `/${top} is reserved for the cell itself`;
  return undefined;
}

/** The first earlier target that this one equals, contains or is below. */
export function targetConflict(target: string, earlier: readonly string[]): string | undefined {
  const path = normalTarget(target);
  return earlier.find((other) => {
    const taken = normalTarget(other);
    return path === taken || isBelow(path, taken) || isBelow(taken, path);
  });
}

/** A target without a trailing slash. */
export function normalTarget(target: string): string {
  const path = posix.normalize(target);
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}
