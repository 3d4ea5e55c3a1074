import { createHash } from "node:crypto";
import { lstat, readFile, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { writeFileAtomically } from "../../lib/files/atomic-file.ts";
import { makeDirectories } from "../../lib/files/make-directories.ts";
import { denyMatcher } from "../paths/deny.ts";
import { writableHostPaths } from "../paths/host-grants.ts";
import type { Policy } from "../schema.ts";
import { policyFileName } from "./load-policy.ts";

/**
 * The attack: a program writes a policy file into a directory that it may write, and the next call that starts there obeys it.
 * So codecell remembers which directories programs could write. A policy file that is found in one of them, or below, is
 * obeyed if it was there before the first program was, or if somebody trusted exactly this text (ADR 36).
 */
interface WritableRecord {
  readonly directory: string;
  /** the policy file at the top is the user's: it was there first, and every cell has had it hidden */
  readonly hasOwnPolicy: boolean;
}

/** Remembers the directories that programs under this policy can write. Call it before a cell starts. */
export async function rememberWritable(policy: Policy, stateDir: string): Promise<void> {
  const sources = writableHostPaths(policy);
  if (sources.length === 0) return; // as most policies: compiling the globs takes a millisecond
  const isHidden = denyMatcher(policy.fs.deny)(policyFileName) !== undefined;
  for (const source of sources) {
    const directory = await realpath(source).catch(() => undefined);
    if (directory === undefined) continue; // the runner says what is wrong with it
    const before = await readRecord(stateDir, directory);
    const hasOwnPolicy = isHidden && (await isOwnPolicy(stateDir, directory, before));
    if (before?.hasOwnPolicy === hasOwnPolicy) continue;
    await write(stateDir, recordPath(stateDir, directory), JSON.stringify({ directory, hasOwnPolicy }));
  }
}

async function isOwnPolicy(stateDir: string, directory: string, before: WritableRecord | undefined): Promise<boolean> {
  const path = join(directory, policyFileName);
  if ((await lstat(path).catch(() => undefined)) === undefined) return false;
  if (before?.hasOwnPolicy) return true;
  const isFirst = before === undefined && (await writableAround(stateDir, dirname(directory))) === undefined;
  return isFirst || isTrustedText(stateDir, path, await readFile(path).catch(() => Buffer.of()));
}

/** Refuses a policy file that was only found and that a program may have written. */
export async function refusePlanted(file: string, text: Uint8Array, stateDirs: readonly string[]): Promise<void> {
  const directory = await realpath(dirname(resolve(file)));
  for (const stateDir of stateDirs) {
    const around = await writableAround(stateDir, directory);
    if (around === undefined || (around.directory === directory && around.hasOwnPolicy)) continue;
    if (await isTrustedText(stateDir, join(directory, basename(file)), text)) continue;
    const flag = stateDir === stateDirs.at(-1) ? "" : ` --state-dir ${stateDir}`;
    throw new CodecellError(
      "policy_refused",
      `${file} is not obeyed: programs in a sandbox could write to ${around.directory}, so one of them may have written it`,
      {
        hint: `read what it allows; then run \`codecell policy trust${flag}\` in its directory, or delete it`,
        details: { rule: "fs.workspace" },
      },
    );
  }
}

/** Obeys exactly this text of a policy file from now on, wherever programs can write. */
export async function trustPolicy(file: string, text: Uint8Array, stateDir: string): Promise<void> {
  const path = join(await realpath(dirname(resolve(file))), basename(file));
  await write(stateDir, trustPath(stateDir, path, text), JSON.stringify({ file: path }));
}

/** Trusts the text that `codecell policy init` has written, where a program could have written it as well. */
export async function trustInitialPolicy(file: string, text: string, stateDir: string): Promise<void> {
  const around = await writableAround(stateDir, await realpath(dirname(resolve(file))));
  if (around !== undefined) await trustPolicy(file, Buffer.from(text), stateDir);
}

/** Whether a program can have written this directory: the nearest one that was writable, itself or a parent. */
async function writableAround(stateDir: string, directory: string): Promise<WritableRecord | undefined> {
  for (let path = directory; ; path = dirname(path)) {
    const record = await readRecord(stateDir, path);
    if (record !== undefined || dirname(path) === path) return record;
  }
}

async function isTrustedText(stateDir: string, path: string, text: Uint8Array): Promise<boolean> {
  return (await lstat(trustPath(stateDir, path, text)).catch(() => undefined))?.isFile() === true;
}

/** A record that cannot be read counts: without it, a planted policy would be obeyed. */
async function readRecord(stateDir: string, directory: string): Promise<WritableRecord | undefined> {
  try {
    const found: unknown = JSON.parse(await readFile(recordPath(stateDir, directory), "utf8"));
    return { directory, hasOwnPolicy: (found as Partial<WritableRecord> | null)?.hasOwnPolicy === true };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? undefined : { directory, hasOwnPolicy: false };
  }
}

function recordPath(stateDir: string, directory: string): string {
  return join(stateDir, "policy-trust", `writable-${sha256(directory)}`);
}

function trustPath(stateDir: string, path: string, text: Uint8Array): string {
  return join(stateDir, "policy-trust", `trusted-${sha256(`${path}\0${sha256(text)}`)}`);
}

async function write(stateDir: string, path: string, text: string): Promise<void> {
  try {
    // As root, cells have another uid and must be able to traverse the state directory to their workspaces.
    await makeDirectories(stateDir, process.getuid?.() === 0 ? 0o711 : 0o700);
    await makeDirectories(dirname(path), 0o700);
    await writeFileAtomically(path, `${text}\n`);
  } catch (cause) {
    throw new CodecellError("policy_refused", `codecell cannot write to ${dirname(path)}`, {
      cause,
      hint: "it remembers there which directories programs may write; make it writable, or choose another state directory",
    });
  }
}

function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
