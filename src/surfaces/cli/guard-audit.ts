import { realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { auditDirectory } from "../../audit/chain-files.ts";
import { CodecellError } from "../../lib/errors.ts";
import { isBelow } from "../../policy/host-path.ts";
import type { Policy } from "../../policy/schema.ts";

/** The attack: a program that may write where the audit lies tells another story of what it did. */
export async function guardAudit({ fs, audit }: Policy, stateDir: string): Promise<void> {
  if (!audit.enabled) return;
  const place = await nearestReal(auditDirectory(stateDir));
  const mounts = fs.mounts.filter(({ mode }) => mode === "rw").map(({ source }) => source);
  for (const source of fs.workspace === undefined ? mounts : [fs.workspace, ...mounts]) {
    const real = await nearestReal(source);
    if (place !== real && !isBelow(place, real) && !isBelow(real, place)) continue;
    throw new CodecellError("policy_refused", `the program could rewrite the audit: ${source} and ${place} overlap`, {
      hint: "name another directory, or another state directory with --state-dir",
      details: { rule: "fs.workspace" },
    });
  }
}

/** Where a path really is; of one that does not exist yet, as much of it as does. */
async function nearestReal(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined || dirname(path) === path) return real ?? path;
  const parent = await nearestReal(dirname(path));
  return `${parent === "/" ? "" : parent}/${path.slice(path.lastIndexOf("/") + 1)}`;
}
