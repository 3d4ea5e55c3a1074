import { realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { auditDirectory } from "../audit/chain-files.ts";
import { CodecellError } from "../lib/errors.ts";
import { compiledCodeDirectory } from "../lib/files/compiled-code.ts";
import { writableHostPaths } from "../policy/paths/host-grants.ts";
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

async function refuseOverlap(policy: Policy, what: string, path: string, place: string): Promise<void> {
  const guarded = await nearestReal(path);
  for (const source of writableHostPaths(policy)) {
    const real = await nearestReal(source);
    if (guarded !== real && !isBelow(guarded, real) && !isBelow(real, guarded)) continue;
    throw new CodecellError("policy_refused", `the program could rewrite ${what}: ${source} and ${guarded} overlap`, {
      hint: `give the program another directory, or choose another ${place}`,
      details: { rule: "fs.workspace" },
    });
  }
}

/** The real path. If the path does not exist yet, its nearest existing parent is resolved. */
async function nearestReal(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined || dirname(path) === path) return real ?? path;
  const parent = await nearestReal(dirname(path));
  return `${parent === "/" ? "" : parent}/${path.slice(path.lastIndexOf("/") + 1)}`;
}
