import { existsSync, utimesSync } from "node:fs";
import type { Logger } from "../../lib/log/logger.ts";
import { PromiseCache } from "../../lib/waiting/promise-cache.ts";
import { killNotifyFilter, seccompFilter } from "../linux/seccomp/seccomp.ts";
import type { FilterArch } from "../linux/seccomp/syscalls.ts";
import { type ImageKernel, prepareImageKernel } from "./image-kernel.ts";
import type { ExaminedImage, RunInImage } from "./run-in-image.ts";

/** The image of a cell, and everything that its kernel depends on. */
export interface ImageCell {
  readonly image: ExaminedImage;
  readonly uid: number;
  readonly arch: FilterArch;
  /** the cell has its own OS kernel, which does not protect the supervisor from signals */
  readonly hasOwnKernel: boolean;
  /** directory with the kernels of all processes of this user */
  readonly runtimeDir: string;
  /** examines the image, if it has not been examined yet */
  readonly run: RunInImage;
}

/** The kernels of one runner, by image and user. An image is examined again when its name points to another image. */
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
 * Updates the directory's time. Other processes remove kernels that have been unused for long, and so do machines that
 * clean their temporary directories. It is synchronous, because a cold start waits for it and it takes microseconds.
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
