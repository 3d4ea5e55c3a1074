import { lstat, realpath, statfs } from "node:fs/promises";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { CodecellError } from "../lib/errors.ts";
import { descriptorMountId, hostMounts } from "../lib/files/mountinfo.ts";
import { printable } from "../policy/file/problem.ts";
import { type DenyMatcher, denyMatcher } from "../policy/paths/deny.ts";
import { isHostGlob } from "../policy/paths/glob.ts";
import { homeDirectory, isBelow, refusedPlace } from "../policy/paths/host-path.ts";
import { otherPaths } from "../policy/paths/other-paths.ts";
import type { Policy } from "../policy/schema.ts";
import { Directory, withDirectory } from "./directory.ts";
import { accessing } from "./file-errors.ts";
import { RegularFile } from "./regular-file.ts";

export interface ReadHostFileOptions {
  readonly maxBytes: number;
  /** base of a relative path; absent: the path must be absolute */
  readonly baseDir?: string | undefined;
  readonly homeDir?: string | undefined;
}

export interface HostFile {
  readonly data: Uint8Array;
  /** the real path that was read */
  readonly path: string;
}

interface LoadRules {
  readonly fs: Policy["fs"];
  readonly homeDir: string | undefined;
  readonly denies: DenyMatcher;
}

/** Virtual file systems of the Linux kernel: proc, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs, … */
const virtualFileSystems = new Set([
  0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x64626720, 0x74726163, 0x73636673, 0x62656570, 0xcafe4a11, 0xf97cff8c,
]);

/**
 * Reads a host file for `load`, if `fs.load` allows it and no deny glob matches it. The caller's path is resolved once. Then
 * the real path is checked and opened, one directory at a time without following links. A link swapped in between is refused.
 */
export async function readHostFile(
  path: string,
  policy: Pick<Policy, "fs">,
  options: ReadHostFileOptions,
): Promise<HostFile> {
  const full = checkGiven(path, options.baseDir);
  // Errors show the path as it was written. The attack: a guest of a service learns the directory that it runs in.
  const given = path;
  const rules: LoadRules = {
    fs: policy.fs,
    homeDir: homeDirectory(options.homeDir),
    denies: denyMatcher(policy.fs.deny),
  };
  const glob = rules.denies(full);
  if (glob !== undefined) throw denied(given, glob);
  // Not normalised first: only the OS knows where `link/..` leads.
  const real = await realpath(full).catch(() => undefined);
  if (real === undefined) throw (await isPlainlyMissing(full, rules)) ? missing(given) : notAllowed(given);
  await checkReal(real, given, rules);
  const file = await openReal(real, given);
  try {
    await refuseKernelFile(file, given);
    await refuseBoundFile(file, { real, given }, rules);
    if (file.links > 1) {
      // Deny globs match names. Another hard link may be in a denied directory, and the OS cannot list them.
      throw refused(given, "has other hard links, which cannot be checked against fs.deny", "load a copy of it");
    }
    if (file.size > options.maxBytes) {
      const message = `${printable(given, 200)} has ${file.size} bytes; at most ${options.maxBytes} can be loaded`;
      const details = { size: file.size, maxBytes: options.maxBytes };
      throw new CodecellError("too_large", message, { hint: "mount its directory and read it in the cell", details });
    }
    return { data: await file.read({ maxBytes: options.maxBytes }), path: real };
  } finally {
    await file[Symbol.asyncDispose]();
  }
}

function checkGiven(path: string, baseDir: string | undefined): string {
  if (typeof path !== "string" || path === "" || path.length > 4096)
    throw new CodecellError("file_refused", "a path must be a string of 1 to 4096 characters", {
      hint: "name one file by its path",
    });
  if (/[\p{Cc}\p{Cs}]/u.test(path)) throw refused(path, "has control characters in its name", "rename the file");
  if (isAbsolute(path)) return path;
  if (baseDir === undefined) throw refused(path, "is not an absolute path", "name it by its absolute path");
  return `${resolve(baseDir)}/${path}`;
}

/** Deny before allow, on the real path. Outside `fs.load` the error never depends on what exists. */
async function checkReal(real: string, given: string, rules: LoadRules): Promise<void> {
  const { place, why } = await allowedPlace(real, rules);
  if (why !== undefined) throw refusedDirectory(given, why);
  if (place === undefined) throw notAllowed(given);
  // A glob such as /notes.txt is relative to the entry of `fs.load`.
  const glob = rules.denies(real) ?? rules.denies(relative(place, real));
  if (glob !== undefined) throw denied(given, glob);
}

/** The entry of `fs.load` that contains a real path, or why the only such entry is refused. */
async function allowedPlace(real: string, { fs, homeDir }: LoadRules): Promise<{ place?: string; why?: string }> {
  let why: string | undefined;
  for (const allowed of fs.load) {
    // An allowed directory may itself be a link, so its real path must be allowed too.
    const place = await realpath(allowed).catch(() => undefined);
    if (place === undefined || (real !== place && !isBelow(real, place))) continue;
    const access = { writable: false, homeDir };
    const problem = refusedPlace(place, access) ?? refusedPlace(real, access);
    if (problem === undefined) return { place };
    why = problem;
  }
  return why === undefined ? {} : { why };
}

/**
 * Whether to report "does not exist": the directory is allowed and has no such entry. The attack: a program creates links to
 * host paths in such a directory, and learns from the errors which of them exist.
 */
async function isPlainlyMissing(given: string, rules: LoadRules): Promise<boolean> {
  const path = resolve(given);
  const isEntry = await lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
  );
  if (isEntry) return false;
  if (rules.fs.load.includes(path)) return true;
  const parent = await realpath(dirname(path)).catch(() => undefined);
  return parent !== undefined && (await allowedPlace(parent, rules)).place !== undefined;
}

/** The attack: after the check, the file is replaced by a link before it is opened. */
async function openReal(real: string, given: string): Promise<RegularFile> {
  const parts = real.split("/").slice(1);
  const name = parts.pop() ?? "";
  if (name === "") throw refused(given, "is a directory", "name a file in it");
  return accessing(given, async () => {
    await using root = await Directory.open("/");
    // `await` here: the root must stay open until the last step
    return await withDirectory(root, parts, (directory) => RegularFile.open(directory, name, given));
  });
}

/** /proc and /sys can be mounted anywhere, such as in a chroot. */
async function refuseKernelFile(file: RegularFile, given: string): Promise<void> {
  if (process.platform !== "linux") return;
  const { type } = await accessing(given, () => statfs(file.descriptorPath));
  if (virtualFileSystems.has(type)) throw refused(given, "is on a virtual file system of the OS", "load a copy of it");
}

/** The attack: a bind mount shows a denied directory under a harmless name. */
async function refuseBoundFile(
  file: RegularFile,
  { real, given }: { real: string; given: string },
  { denies, homeDir }: LoadRules,
): Promise<void> {
  for (const other of otherPaths(real, await descriptorMountId(file.descriptor), await hostMounts())) {
    const glob = denies(other);
    if (glob !== undefined) throw denied(given, glob);
    const why = refusedPlace(other, { writable: false, homeDir });
    if (why !== undefined) throw refusedDirectory(given, why);
  }
}

function missing(path: string): CodecellError {
  return new CodecellError("file_missing", `${printable(path, 200)} does not exist`);
}

function denied(path: string, glob: string): CodecellError {
  const rule = isHostGlob(glob) ? "a host path in fs.deny" : glob;
  const hint = "load another file, or change fs.deny in the policy: it overrides fs.load";
  return refused(path, `is denied by ${rule}`, hint, "fs.deny");
}

function notAllowed(path: string): CodecellError {
  const hint = "add its directory to fs.load in the policy";
  return refused(path, "is not in a directory of fs.load", hint, "fs.load");
}

/** `why` has paths of the host, so it is only the cause. */
function refusedDirectory(path: string, why: string): CodecellError {
  const message = `${printable(path, 200)} cannot be loaded: it is in a directory that is never opened to code`;
  const hint = "name another directory in fs.load of the policy";
  return new CodecellError("file_refused", message, { hint, details: { rule: "fs.load" }, cause: new Error(why) });
}

function refused(path: string, why: string, hint?: string, rule?: string): CodecellError {
  return new CodecellError("file_refused", `${printable(path, 200)} ${why}`, {
    ...(hint === undefined ? {} : { hint }),
    ...(rule === undefined ? {} : { details: { rule } }),
  });
}
