import { lstat, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { auditDirectory } from "../audit/chain/chain-files.ts";
import { CodecellError } from "../lib/errors.ts";
import { compiledCodeDirectory } from "../lib/files/compiled-code.ts";
import { warmDirectory } from "../lib/files/warm-directory.ts";
import { hostGrants, writableHostPaths } from "../policy/paths/host-grants.ts";
import { isBelow } from "../policy/paths/host-path.ts";
import type { Policy } from "../policy/schema.ts";

/** The attack: a program that can write to the audit's directory rewrites what it did. */
export async function guardAudit(policy: Policy, stateDir: string): Promise<void> {
  if (policy.audit.enabled) await refuseOverlap(policy, "the audit", auditDirectory(stateDir), "state directory");
}

/** The same for a log: a program that can write there forges messages, or replaces the log by a link. */
export async function guardLog(policy: Policy, file: string): Promise<void> {
  await refuseOverlap(policy, "the log", file, "log file");
}

/** The attack: a program writes into the compiled code of the command line, which the next command runs outside the cell. */
export async function guardCompiledCode(policy: Policy, directory = compiledCodeDirectory()): Promise<void> {
  if (directory !== undefined) await refuseOverlap(policy, "codecell's own code", directory, "XDG_RUNTIME_DIR");
}

/** The attack: a program rewrites cached packages, which the next session imports, perhaps under a policy that allows more. */
export async function guardPackages(policy: Policy, directory: string): Promise<void> {
  await refuseOverlap(policy, "cached packages", directory, "state directory");
}

/**
 * The attack: a program connects to the process behind `codecell run --warm`, and runs code under a policy that allows more. A
 * socket can be used through a read-only mount, too.
 */
export async function guardWarmSockets(policy: Policy, directory = warmDirectory()): Promise<void> {
  const sources = hostGrants(policy).map(({ source }) => source);
  if (sources.length === 0 || directory === undefined) return;
  if ((await lstat(directory).catch(() => undefined)) === undefined) return;
  const source = await overlapping(sources, await nearestReal(directory));
  if (source === undefined) return;
  throw new CodecellError("policy_refused", `the program could use other policies: ${source} contains ${directory}`, {
    hint: "run `codecell warm stop`, or give the program another directory",
    details: { rule: "fs.mounts" },
  });
}

async function refuseOverlap(policy: Policy, what: string, path: string, place: string): Promise<void> {
  const guarded = await nearestReal(path);
  const source = await overlapping(writableHostPaths(policy), guarded);
  if (source !== undefined) {
    throw new CodecellError("policy_refused", `the program could rewrite ${what}: ${source} and ${guarded} overlap`, {
      hint: `give the program another directory, or choose another ${place}`,
      details: { rule: "fs.workspace" },
    });
  }
}

async function overlapping(sources: readonly string[], guarded: string): Promise<string | undefined> {
  for (const source of sources) {
    const real = await nearestReal(source);
    if (guarded === real || isBelow(guarded, real) || isBelow(real, guarded)) return source;
  }
  return undefined;
}

/** The real path. If the path does not exist yet, its nearest existing parent is resolved. */
async function nearestReal(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined || dirname(path) === path) return real ?? path;
  const parent = await nearestReal(dirname(path));
  return `${parent === "/" ? "" : parent}/${path.slice(path.lastIndexOf("/") + 1)}`;
}
