import type { FoundProblem } from "../file/plain-copy.ts";
import type { PolicyPath } from "../file/problem.ts";
import { normalTarget, targetConflict, targetProblem } from "./cell-path.ts";
import { type PathContext, refusedPlace, resolveHostPath } from "./host-path.ts";

const fileSource = "file:";

type Section = Record<string, unknown>;

/**
 * Makes the host paths of a policy (or of a part of one) absolute, in place, and reports those that may not be used. It runs
 * before the schema, so that one report has both kinds of problems. Values of a wrong type are left to the schema.
 */
export function resolvePaths(policy: unknown, at: PolicyPath, context: PathContext): FoundProblem[] {
  const problems: FoundProblem[] = [];
  const resolve = (owner: Section, path: PolicyPath, key: string | number, access?: { writable: boolean }) => {
    const written = owner[key];
    if (typeof written !== "string") return;
    const resolved = resolveHostPath(written, context);
    const refused =
      "path" in resolved && access ? refusedPlace(resolved.path, { ...access, homeDir: context.homeDir }) : undefined;
    if ("path" in resolved) owner[key] = resolved.path;
    const message = "problem" in resolved ? resolved.problem : refused;
    if (message !== undefined) problems.push({ path: [...path, key], message });
  };

  const fs = section(policy, "fs");
  resolve(fs, [...at, "fs"], "workspace", { writable: true });
  resolve(fs, [...at, "fs"], "deps", { writable: false });
  const targets: string[] = [];
  for (const [index, mount] of list(fs.mounts).entries()) {
    const path = [...at, "fs", "mounts", index];
    resolve(mount, path, "source", { writable: mount.mode === "rw" });
    const target = mount.target;
    if (typeof target !== "string") continue;
    const conflict = targetConflict(target, targets);
    const message = targetProblem(target) ?? (conflict && `overlaps with the mount at ${conflict}`);
    if (message !== undefined) problems.push({ path: [...path, "target"], message });
    targets.push(target);
    mount.target = normalTarget(target);
  }
  if (Array.isArray(fs.load)) {
    const paths = fs.load as unknown as Section;
    for (const index of fs.load.keys()) resolve(paths, [...at, "fs", "load"], index, { writable: false });
  }
  for (const [name, secret] of Object.entries(section(section(policy, "net"), "secrets"))) {
    if (!isSection(secret) || typeof secret.from !== "string" || !secret.from.startsWith(fileSource)) continue;
    // The host reads this file and never mounts it, so any path will do that the cell cannot read.
    const file = { from: secret.from.slice(fileSource.length) };
    resolve(file, [...at, "net", "secrets", name], "from");
    secret.from = `${fileSource}${file.from}`;
  }
  // The interpreter is run, not opened to the program, so any path will do.
  resolve(section(policy, "kernel"), [...at, "kernel"], "python");
  return problems;
}

function section(owner: unknown, key: string): Section {
  const value = isSection(owner) ? owner[key] : undefined;
  return isSection(value) ? value : {};
}

function list(value: unknown): Section[] {
  return Array.isArray(value) ? value.map((item) => (isSection(item) ? item : {})) : [];
}

function isSection(value: unknown): value is Section {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
