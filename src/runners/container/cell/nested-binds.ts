import { CodecellError } from "../../../lib/errors.ts";
import { isBelow } from "../../../policy/paths/host-path.ts";
import type { CellMount } from "../../linux/mounts.ts";
import type { NestedMount } from "../../linux/nested-mounts.ts";

/**
 * Pure: the file systems that the host has mounted below a read-only directory. The mount of that directory does not
 * include them, so each is mounted separately and read-only. A writable directory is mounted recursively and needs none.
 */
export function shownBelow({ readOnly, nested, deny }: CellMount): NestedMount[] {
  if (!readOnly) return [];
  return nested.filter(({ path }) => !deny.some((cover) => path === cover.path || isBelow(path, cover.path)));
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
    const message = `${rule}: a file system is mounted at ${source}/${first.path}, and a rootless engine cannot keep it read-only`;
    throw new CodecellError("policy_refused", message, {
      hint: "unmount it, choose a directory without nested mounts, or use the process runner",
      details: { rule },
    });
  }
}
