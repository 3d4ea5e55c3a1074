import { CodecellError } from "../../../lib/errors.ts";
import { namespaceRoot } from "../../../lib/files/namespace-root.ts";
import type { CellMount } from "../mounts/mounts.ts";
import type { UidRange } from "./private-uid.ts";

/**
 * The owner of the writable host directories, if there are any. Root starts cells that have some as their owner, because nobody
 * else can write there.
 */
export function writableOwner(mounts: readonly CellMount[]): number | undefined {
  const owners = new Set(mounts.filter((mount) => !mount.readOnly).map((mount) => mount.ownerUid));
  const rootOwned = mounts.find((mount) => !mount.readOnly && mount.ownerUid === 0);
  if (rootOwned && namespaceRoot() !== undefined) {
    throw new CodecellError(
      "policy_refused",
      `${rootOwned.rule}: ${rootOwned.source} belongs to the user who runs codecell, and cells here have uids of their own`,
      { hint: "run codecell without `unshare`: its cells then share your user id", details: { rule: rootOwned.rule } },
    );
  }
  if (rootOwned) {
    throw new CodecellError(
      "policy_refused",
      `${rootOwned.rule}: ${rootOwned.source} belongs to root, but cells never run as root`,
      {
        hint: "give the directory to an ordinary user (chown), or run codecell as one",
        details: { rule: rootOwned.rule },
      },
    );
  }
  if (owners.size > 1) {
    throw new CodecellError("policy_refused", "fs.mounts: the writable directories belong to different users", {
      hint: "give them one owner, or mount all but one read-only",
      details: { rule: "fs.mounts" },
    });
  }
  const [owner] = owners;
  return owner;
}

/** Pure: the uid that cells of a policy share if they cannot have their own. */
export function policyUid(shared: UidRange, policyHash: string): number {
  return shared.first + (Number.parseInt(policyHash.slice(0, 8), 16) % shared.count);
}
