import { randomBytes } from "node:crypto";
import { chmod, mkdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError, messageOf } from "../../../../lib/errors.ts";
import { holdPipe } from "../../../../lib/files/held-pipe.ts";
import { makeDirectories } from "../../../../lib/files/make-directories.ts";
import { type Logger, silentLogger } from "../../../../lib/log/logger.ts";
import type { SessionWorkspace } from "../../../runner.ts";
import { mountImage, writeImage } from "./disk-image.ts";
import { ownerPipe } from "./disk-leftovers.ts";
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
  readonly logger?: Logger;
  /** a next session is unlikely, so no disk is prepared for it */
  readonly isForOneCell?: boolean;
}

interface Owner {
  readonly tag: string;
  readonly release: () => Promise<void>;
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
  /** by the directory of the workspaces */
  readonly #owners = new Map<string, Promise<Owner>>();
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
      await moveFiles(workspace, known, disk, bytes, { logger: this.#logger });
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
    const owners = [...this.#owners.values()];
    this.#owners.clear();
    for (const owner of owners) await (await owner.catch(() => undefined))?.release();
  }

  #owner(root: string): Promise<Owner> {
    const known = this.#owners.get(root);
    if (known) return known;
    const owner = takeOwnership(root);
    this.#owners.set(root, owner);
    owner.catch(() => this.#owners.delete(root));
    return owner;
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
    const { tag } = await this.#owner(root);
    const disk = diskPaths(root, diskId(tag, ++this.#made, bytes));
    try {
      this.#blocks.set(bytes, await writeImage(disk.image, bytes, this.#blocks.get(bytes)));
      await mkdir(disk.directory, 0o700);
      await mountImage(disk.image, disk.directory);
      await rmdir(join(disk.directory, "lost+found")); // it would be the first thing that a program sees
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

/** Holds a pipe open while this process runs. If it is killed, others remove what it has made and no session uses. */
async function takeOwnership(root: string): Promise<Owner> {
  // Programs pass through it as another user, but cannot list it.
  await makeDirectories(disksOf(root), 0o711);
  await chmod(disksOf(root), 0o711);
  const tag = `d${randomBytes(6).toString("hex")}`;
  const path = ownerPipe(root, tag);
  const release = await holdPipe(path);
  return {
    tag,
    release: async () => {
      await release();
      await rm(path, { force: true });
    },
  };
}
