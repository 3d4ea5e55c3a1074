import { CodecellError } from "../../lib/errors.ts";
import type { CellMount } from "./mounts.ts";
import type { UidRange } from "./private-uid.ts";

/**
 * The uid of a cell: codecell's own or, if codecell runs as root, one that nobody else has, so that an escape does not
 * give root. The owner of a writable host directory takes precedence, because nobody else can write there.
 */
export function chooseCellUid(
  range: UidRange | undefined,
  mounts: readonly CellMount[],
  policyHash: string,
): number | undefined {
  if (!range) return undefined;
  const owners = new Set(mounts.filter((mount) => !mount.readOnly).map((mount) => mount.ownerUid));
  const rootOwned = mounts.find((mount) => !mount.readOnly && mount.ownerUid === 0);
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
  // The same policy gets the same uid, so that a reopened session still owns its files.
  return owner ?? range.first + (Number.parseInt(policyHash.slice(0, 8), 16) % range.count);
}
