import { realpath } from "node:fs/promises";
import { CodecellError } from "../../../lib/errors.ts";
import { hostMounts } from "../../../lib/files/mountinfo.ts";
import { hostGrants } from "../../../policy/paths/host-grants.ts";
import { isBelow } from "../../../policy/paths/host-path.ts";
import type { Policy } from "../../../policy/schema.ts";
import type { CellMount } from "../../linux/mounts/mounts.ts";
import { type NestedMount, nestedMounts } from "../../linux/mounts/nested-mounts.ts";
import type { EnforcementPlan } from "../../receipt.ts";

/**
 * Pure: the file systems that the host has mounted below a read-only directory. The mount of that directory does not
 * include them, so each is mounted separately and read-only. A writable directory is mounted recursively and needs none.
 */
export function shownBelow({ readOnly, nested, deny }: CellMount): NestedMount[] {
  if (!readOnly) return [];
  return nested.filter(({ path }) => !deny.some((cover) => path === cover.path || isBelow(path, cover.path)));
}

/**
 * Moves the rules of read-only directories with nested file systems to the refused ones, for a rootless engine: `auto` then chooses
 * another runner. Only mounts of the host count, which code in a cell cannot make.
 */
export async function withNestedRefused(policy: Policy, plan: EnforcementPlan): Promise<EnforcementPlan> {
  const readOnly = hostGrants(policy).filter(({ isWritable }) => !isWritable);
  if (readOnly.length === 0) return plan;
  const table = await hostMounts();
  let { rules, refused } = plan;
  for (const { rule, source } of readOnly) {
    const path = await realpath(source).catch(() => undefined); // the start reports a directory that is missing
    const [first] = path === undefined ? [] : await nestedMounts(path, table);
    const row = rules.find((one) => one.rule === rule);
    if (!first || !row) continue;
    rules = rules.filter((one) => one !== row);
    refused = [...refused, { rule, value: row.value, reason: nestedReason(`${path}/${first.path}`), hint: nestedHint }];
  }
  return { ...plan, rules, refused };
}

const nestedHint = "unmount it, choose a directory without nested mounts, or use the process runner";

function nestedReason(path: string): string {
  return `a file system is mounted at ${path}, and a rootless engine cannot keep it read-only`;
}

/**
 * Refuses nested file systems of read-only mounts in a rootless engine. The Linux kernel makes it mount them recursively,
 * and they would stay writable for code in the cell.
 */
export function refuseNested({ isRootless }: { isRootless: boolean }, mounts: readonly CellMount[]): void {
  if (!isRootless) return;
  for (const { rule, source, readOnly, nested } of mounts) {
    const [first] = nested;
    if (!readOnly || first === undefined) continue;
    const message = `${rule}: ${nestedReason(`${source}/${first.path}`)}`;
    throw new CodecellError("policy_refused", message, { hint: nestedHint, details: { rule } });
  }
}
