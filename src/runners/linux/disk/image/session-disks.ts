import { randomBytes } from "node:crypto";
import { chmod, mkdir } from "node:fs/promises";
import { CodecellError, messageOf } from "../../../../lib/errors.ts";
import { type LivenessLock, takeLock } from "../../../../lib/files/liveness-lock.ts";
import { makeDirectories } from "../../../../lib/files/make-directories.ts";
import { type Logger, silentLogger } from "../../../../lib/log/logger.ts";
import type { SessionWorkspace } from "../../../runner.ts";
import { mountImage, writeImage } from "./disk-image.ts";
import { disksLock } from "./disk-leftovers.ts";
import { moveFiles } from "./move-files.ts";
import {
  type DiskPaths,
  diskId,
  diskPaths,
  disksOf,
  findDisk,
  type PinnedDisk,
  pinImage,
  removeImage,
  roomOf,
} from "./session-disk.ts";

export interface SessionDisksOptions {
  readonly runtimeDir: string;
  readonly logger?: Logger;
  /** a next session is unlikely, so no disk is prepared for it */
  readonly isForOneCell?: boolean;
}

/** A disk that waits for its session. */
interface Spare {
  readonly root: string;
  readonly bytes: number;
  readonly disk: Promise<DiskPaths>;
}

/** The next disk is prepared this long after the last one was taken, so that it does not slow down the start of that session. */
const refillMs = 50;

/**
 * Makes the file systems of new sessions, and mounts those of old ones. Making one takes longer than the rest of a start, so
 * one is prepared ahead.
 */
export class SessionDisks implements AsyncDisposable {
  readonly #options: SessionDisksOptions;
  readonly #logger: Logger;
  /** sizes of images by the bytes they have room for */
  readonly #blocks = new Map<number, number>();
  #owner: Promise<{ tag: string; lock: LivenessLock }> | undefined;
  #made = 0;
  #spare: Spare | undefined;
  #refill: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SessionDisksOptions) {
    this.#options = options;
    this.#logger = options.logger ?? silentLogger;
  }

  /** The disk of a session with room for exactly so many bytes. It is new if the session is, or if its limit has changed. */
  async open(workspace: SessionWorkspace, bytes: number): Promise<PinnedDisk> {
    const known = await findDisk(workspace);
    if (known && roomOf(known) === bytes) return pinImage(known);
    const disk = await this.#take(workspace.root, bytes);
    const pinned = await pinImage(disk);
    try {
      await moveFiles(workspace, known, disk, bytes);
    } catch (error) {
      await pinned.letGo();
      await removeImage(disk).catch(() => {});
      throw error;
    }
    if (!this.#options.isForOneCell) this.#prepareLater(workspace.root, bytes);
    return pinned;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#refill);
    const disk = await this.#spare?.disk.catch(() => undefined);
    this.#spare = undefined;
    if (disk) await removeImage(disk);
    await (await this.#owner?.catch(() => undefined))?.lock[Symbol.asyncDispose]();
  }

  async #take(root: string, bytes: number): Promise<DiskPaths> {
    const spare = this.#spare;
    if (spare?.root === root && spare.bytes === bytes) {
      this.#spare = undefined;
      const disk = await spare.disk.catch(() => undefined); // a new one has the same problem, and says so
      if (disk) return disk;
    }
    return this.#make(root, bytes);
  }

  #prepareLater(root: string, bytes: number): void {
    this.#refill ??= setTimeout(() => {
      this.#refill = undefined;
      if (this.#isClosed || (this.#spare?.root === root && this.#spare.bytes === bytes)) return;
      const old = this.#spare;
      const disk = this.#make(root, bytes);
      this.#spare = { root, bytes, disk };
      disk.catch((error: unknown) => this.#logger.warn("a disk could not be prepared", { error }));
      void old?.disk.then(removeImage).catch(() => {});
    }, refillMs).unref();
  }

  async #make(root: string, bytes: number): Promise<DiskPaths> {
    this.#owner ??= takeOwnership(this.#options.runtimeDir);
    const { tag } = await this.#owner;
    const disk = diskPaths(root, diskId(tag, ++this.#made, bytes));
    // Programs pass through it as another user, but cannot list it.
    await makeDirectories(disksOf(root), 0o711);
    await chmod(disksOf(root), 0o711);
    try {
      this.#blocks.set(bytes, await writeImage(disk.image, bytes, this.#blocks.get(bytes)));
      await mkdir(disk.directory, 0o700);
      await mountImage(disk.image, disk.directory);
      await chmod(disk.directory, 0o700);
      return disk;
    } catch (cause) {
      await removeImage(disk).catch(() => {});
      throw new CodecellError("cell_start_failed", `the disk of the session cannot be made: ${messageOf(cause)}`, {
        hint: "free some space on the disk of the state directory, or set proc.exactDisk to false",
        cause,
      });
    }
  }
}

/** A lock that is held while this process runs: what it has made and no session uses is then removed by others. */
async function takeOwnership(runtimeDir: string): Promise<{ tag: string; lock: LivenessLock }> {
  const tag = `d${randomBytes(6).toString("hex")}`;
  const lock = await takeLock(disksLock(runtimeDir, tag));
  if (!lock) throw new CodecellError("internal", "the lock of new disks is already in use");
  return { tag, lock };
}
