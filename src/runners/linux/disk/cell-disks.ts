import { openRuntimeDirectory } from "../../../lib/files/runtime-directory.ts";
import type { Logger } from "../../../lib/log/logger.ts";
import { once } from "../../../lib/once.ts";
import type { Policy } from "../../../policy/schema.ts";
import type { CellSpec } from "../../runner.ts";
import { type ImageSupport, tryImages } from "./image/image-support.ts";
import { type PinnedDisk, pinDisk } from "./image/session-disk.ts";
import { SessionDisks } from "./image/session-disks.ts";

export interface CellDisksOptions {
  readonly runtimeDir?: string | undefined;
  readonly logger?: Logger | undefined;
  readonly isForOneCell?: boolean | undefined;
}

/** The file systems that sessions of one runner have for themselves, if `proc.exactDisk` asks for it. */
export class CellDisks implements AsyncDisposable {
  readonly #options: CellDisksOptions;
  readonly #runtimeDir: () => Promise<string>;
  readonly #trial: () => Promise<ImageSupport>;
  #disks: SessionDisks | undefined;

  constructor(options: CellDisksOptions) {
    this.#options = options;
    this.#runtimeDir = once(() => openRuntimeDirectory(options.runtimeDir));
    this.#trial = once(async () => tryImages(await this.#runtimeDir()));
  }

  /** Whether this host can hold the limit of such a policy; undefined if the policy does not ask for it. */
  async support({ proc }: Policy): Promise<ImageSupport | undefined> {
    return proc.exactDisk ? this.#trial() : undefined;
  }

  /** Mounts the file system of a session. Undefined: its files are in a directory of the host. */
  async pin({ policy, workspace }: CellSpec): Promise<PinnedDisk | undefined> {
    if (workspace === undefined || policy.fs.workspace !== undefined) return undefined;
    // A session that was saved on a disk keeps it, whatever the policy asks for now.
    if (!policy.proc.exactDisk) return pinDisk(workspace);
    const { logger, isForOneCell } = this.#options;
    const options = { ...(logger ? { logger } : {}), ...(isForOneCell ? { isForOneCell } : {}) };
    this.#disks ??= new SessionDisks(options);
    return this.#disks.open(workspace, policy.proc.diskBytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#disks?.[Symbol.asyncDispose]();
  }
}
