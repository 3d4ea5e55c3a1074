import { CodecellError } from "../../../lib/errors.ts";
import { isBelow } from "../../../policy/paths/host-path.ts";
import type { CellMount } from "../../linux/mounts.ts";
import type { NestedMount } from "../../linux/nested-mounts.ts";

/**
 * Pure: what the host has mounted below a read-only directory. That comes without it, and it comes by itself, read-only
 * too. A writable directory brings what is below it along, as writable as it is.
 */
export function shownBelow({ readOnly, nested, deny }: CellMount): NestedMount[] {
  if (!readOnly) return [];
  return nested.filter(({ path }) => !deny.some((cover) => path === cover.path || isBelow(path, cover.path)));
}

/**
 * The Linux kernel does not let a rootless engine leave such a mount behind, and what it brings along stays writable: code in the
 * cell could write to it.
 */
export function refuseNested({ isRootless }: { isRootless: boolean }, mounts: readonly CellMount[]): void {
  if (!isRootless) return;
  for (const { rule, source, readOnly, nested } of mounts) {
    const [first] = nested;
    if (!readOnly || first === undefined) continue;
    const message = `${rule}: a file system is mounted at ${source}/${first.path}, and a rootless engine cannot keep it read-only`;
    throw new CodecellError("policy_refused", message, {
      hint: "unmount it, name a directory without it, or use the process runner",
      details: { rule },
    });
  }
}
