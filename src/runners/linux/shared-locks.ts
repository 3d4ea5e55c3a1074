import { hostGrants } from "../../policy/paths/host-grants.ts";
import type { Policy } from "../../policy/schema.ts";

/** Pure: a note for the receipt of a cell that uses the host's own inodes: Linux has no mount whose locks count apart. See ADR 40. */
export function sharedLocks(policy: Policy): string[] {
  const isReadOnly = hostGrants(policy).some(({ isWritable }) => !isWritable);
  return isReadOnly
    ? [
        "a lock that code takes on a file of a read-only directory holds against the host's programs until its session ends",
      ]
    : [];
}
