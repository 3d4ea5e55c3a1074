import { existsSync, utimesSync } from "node:fs";
import type { Logger } from "../../lib/log/logger.ts";
import { PromiseCache } from "../../lib/promise-cache.ts";
import { killNotifyFilter, seccompFilter } from "../linux/seccomp.ts";
import type { FilterArch } from "../linux/syscalls.ts";
import { type ImageKernel, prepareImageKernel } from "./image-kernel.ts";
import type { ExaminedImage, RunInImage } from "./run-in-image.ts";

/** The image that a cell is started from, and what its kernel follows from. */
export interface ImageCell {
  readonly image: ExaminedImage;
  readonly uid: number;
  readonly arch: FilterArch;
  /** the cell has an OS kernel of its own, which does not shield the supervisor from signals */
  readonly hasOwnKernel: boolean;
  /** where kernels are kept, for every process of this user */
  readonly runtimeDir: string;
  /** examines the image, where nobody has before */
  readonly run: RunInImage;
}

/** The kernels of one runner, by image and user. An image is examined once, and again when its name means another one. */
export class ImageKernels {
  readonly #kernels = new PromiseCache<ImageKernel>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  async get({ image, uid, arch, hasOwnKernel, runtimeDir, run }: ImageCell): Promise<ImageKernel> {
    const key = `${image.id} ${uid}`;
    const prepare = () => {
      this.#logger.info("examining the image", { image: image.name });
      const limits = { allowMemfd: true, allowAffinity: true, shieldsSupervisor: hasOwnKernel };
      return prepareImageKernel({
        ...{ image, uid, runtimeDir, run },
        filters: {
          "notify.bpf": killNotifyFilter(arch),
          "cell.bpf": seccompFilter({ arch, phase: "cell", ...limits }),
        },
      });
    };
    const known = this.#kernels.get(key, prepare);
    const kernel = await known;
    if (isStillThere(kernel.directory)) return kernel;
    this.#kernels.forget(key, known);
    return await this.#kernels.get(key, prepare);
  }
}

/**
 * Another process removes kernels that nobody has used for long, and machines clean their directories for such files: so
 * this one says that it is used. A cold start waits for it, hence one call of microseconds.
 */
function isStillThere(directory: string): boolean {
  try {
    const now = new Date();
    utimesSync(directory, now, now);
    return true;
  } catch {
    return existsSync(directory);
  }
}
