import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { openRuntimeDirectory } from "../../../lib/files/runtime-directory.ts";
import type { CellMount } from "../mounts/mounts.ts";
import { policyUid, writableOwner } from "./cell-user.ts";
import { privateUids, type UidRange } from "./private-uid.ts";
import { leaseUids, type UidLease } from "./uid-lease.ts";

/** every codecell of root on this machine finds the leases of the others here, whatever its own runtime directory is */
const machineWide = "/run/codecell";

/** What a cell's uid depends on. */
export interface CellOwner {
  readonly mounts: readonly CellMount[];
  readonly policyHash: string;
  /** the session's own directory: its owner gets it back without a change of its files */
  readonly workspace?: string | undefined;
}

/**
 * The users of cells that root starts. Each cell has its own uid, because the Linux kernel counts some resources per user
 * (descriptors in flight, pages of pipes, watches of epoll): one session could take them away from all others of its uid.
 */
export class CellUsers {
  readonly #shared: UidRange;
  /** undefined: all blocks are in use, so cells of one policy share a uid */
  readonly lease: UidLease | undefined;

  private constructor(shared: UidRange, lease: UidLease | undefined) {
    this.#shared = shared;
    this.lease = lease;
  }

  /** Undefined if codecell is not root, or if root has no other uid. `cleanup` gives the uids back. */
  static async open(runtimeDir: string, cleanup: Cleanup): Promise<CellUsers | undefined> {
    const uids = process.getuid?.() === 0 ? privateUids(await readFile("/proc/self/uid_map", "utf8")) : undefined;
    if (!uids) return undefined;
    const directory = await openRuntimeDirectory(machineWide).catch(() => runtimeDir);
    const lease = await leaseUids(uids.own, join(directory, "uids"), runtimeDir);
    if (lease) cleanup.defer(() => lease[Symbol.asyncDispose]());
    return new CellUsers(uids.shared, lease);
  }

  /** The cell's own uid. Not for a policy with writable host directories, whose owner the cell must be. */
  async forCell(owner: CellOwner, cleanup: Cleanup): Promise<number> {
    return writableOwner(owner.mounts) ?? (await this.#own(owner, cleanup)) ?? this.forPolicy(owner);
  }

  /** The uid that all cells of a policy can have. */
  forPolicy({ mounts, policyHash }: CellOwner): number {
    return writableOwner(mounts) ?? policyUid(this.#shared, policyHash);
  }

  async #own({ workspace }: CellOwner, cleanup: Cleanup): Promise<number | undefined> {
    if (!this.lease) return undefined;
    const found = workspace === undefined ? undefined : await lstat(workspace).catch(() => undefined);
    const uid = this.lease.takeForCell(found?.uid);
    if (uid === undefined) {
      const hint = "close sessions that are no longer needed, or start them in another process";
      throw new CodecellError("cell_start_failed", "every user id for cells of this process is in use", { hint });
    }
    cleanup.defer(() => this.lease?.giveBack(uid));
    return uid;
  }
}
