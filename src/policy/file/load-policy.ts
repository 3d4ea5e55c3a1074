import { constants, type Stats } from "node:fs";
import { access, type FileHandle, lstat, open } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { denyMatcher } from "../paths/deny.ts";
import { hostGrants } from "../paths/host-grants.ts";
import { isBelow } from "../paths/host-path.ts";
import type { Policy } from "../schema.ts";
import { maxPolicyBytes, policyInvalid, rulePath } from "./problem.ts";

export const policyFileName = "sandbox.policy.yaml";

/** Options of `loadPolicy`. */
export interface LoadPolicyOptions {
  readonly homeDir?: string | undefined;
  /** refuses a file that another user owns or may write to: nobody named it, it was only found */
  readonly mustBeOwn?: boolean | undefined;
  /** @internal throws if this text must not be obeyed; it gets the bytes that are parsed */
  readonly checkText?: ((text: Uint8Array) => Promise<void>) | undefined;
}

/** Reads and parses a policy file; paths in it are relative to its directory. */
export async function loadPolicy(file: string, options: LoadPolicyOptions = {}): Promise<Policy> {
  const path = resolve(file);
  const { mustBeOwn = false, checkText, ...context } = options;
  const text = await readPolicyText(path, file, mustBeOwn);
  await checkText?.(text);
  // loaded here, because programs without a policy file do not need a YAML parser
  const { parsePolicyText } = await import("./parse-policy-text.ts");
  const policy = parsePolicyText(text, { file, baseDir: dirname(path), ...context });
  refuseWritablePolicy(path, file, policy);
  return policy;
}

/**
 * The policy file of a directory, or undefined. Only this directory is searched. The attack: a program in a cell writes a
 * policy file into its workspace, and a search there or upwards would use it for the next session.
 */
export async function findPolicy(directory: string): Promise<string | undefined> {
  const path = join(directory, policyFileName);
  if (await exists(path)) return path;
  const misspelt = join(directory, "sandbox.policy.yml");
  if (!(await exists(misspelt))) return undefined;
  throw new CodecellError("usage", `${misspelt} is ignored: the file must be named ${policyFileName}`, {
    hint: "rename the file",
  });
}

/** The bytes of a policy file, up to the limit of its size. */
export async function readPolicyText(path: string, shown: string, mustBeOwn: boolean): Promise<Uint8Array> {
  await using file = await openRegular(path, shown);
  const stats = await file.stat();
  const { size } = stats;
  if (mustBeOwn) refuseForeign(path, shown, [stats, await lstat(path)]);
  if (size > maxPolicyBytes) return tooLarge(shown, size);
  // Read one byte more than allowed, so that the parser refuses a file that grows while it is read.
  const buffer = new Uint8Array(maxPolicyBytes + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < buffer.length; length += read) {
    read = (await file.read(buffer, length, buffer.length - length, length)).bytesRead;
  }
  return buffer.subarray(0, length);
}

async function openRegular(path: string, shown: string): Promise<FileHandle & AsyncDisposable> {
  let file: FileHandle;
  try {
    // O_NONBLOCK: opening a named pipe without a writer would block forever
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const hint = isMissing
      ? `check the path; \`codecell policy init\` writes a new ${policyFileName}`
      : "check the path and its permissions";
    throw new CodecellError("usage", `${shown} ${isMissing ? "does not exist" : "cannot be read"}`, { cause, hint });
  }
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new CodecellError("usage", `${shown} is not a regular file`, { hint: `name a file such as ${policyFileName}` });
}

/**
 * The attack: somebody else writes a policy into a directory, and whoever starts codecell there obeys it. A group with the
 * number of its user is that user's private group, which many systems let write to every new file. `stats` has the file and,
 * if the path is a link, the link: whoever owns it chooses the file.
 */
function refuseForeign(path: string, shown: string, stats: readonly Stats[]): void {
  const uid = process.geteuid?.();
  if (uid === undefined) return;
  const owner = stats.find((one) => one.uid !== uid && one.uid !== 0)?.uid;
  const { mode, gid, uid: fileUid } = stats[0] as Stats;
  const writers =
    (mode & 0o002) !== 0 ? "every user" : (mode & 0o020) !== 0 && gid !== fileUid ? `group ${gid}` : undefined;
  if (owner === undefined && writers === undefined) return;
  const why = owner === undefined ? `${writers} may write to it` : `it belongs to another user (uid ${owner})`;
  const fix = owner === undefined ? `run \`chmod go-w ${quoted(path)}\`` : `run \`chown ${uid} ${quoted(path)}\``;
  throw new CodecellError("policy_refused", `${shown} is not obeyed: ${why}`, {
    hint: `read what it allows, then ${fix}, or name it: \`--policy ${quoted(path)}\``,
  });
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

function tooLarge(file: string, size: number): never {
  throw policyInvalid([{ rule: "", message: `the file has ${size} bytes; the limit is ${maxPolicyBytes}` }], file);
}

/** The attack: a program rewrites its own policy, and the next session obeys it. */
function refuseWritablePolicy(path: string, file: string, policy: Policy): void {
  const matcher = denyMatcher(policy.fs.deny);
  const problems = hostGrants(policy)
    .filter(({ source, isWritable }) => isWritable && (path === source || isBelow(path, source)))
    .filter(({ source }) => matcher(relative(source, path)) === undefined)
    .map(({ path: rule }) => ({
      rule: rulePath(rule),
      message: `the program could rewrite this policy through it; add ${basename(path)} to fs.deny, or move the file`,
    }));
  if (problems.length > 0) throw policyInvalid(problems, file);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT" && error.code !== "ENOTDIR",
  );
}
