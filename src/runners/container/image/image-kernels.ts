import { existsSync, utimesSync } from "node:fs";
import type { Logger } from "../../../lib/log/logger.ts";
import { PromiseCache } from "../../../lib/promise-cache.ts";
import { killNotifyFilter, seccompFilter } from "../../linux/seccomp.ts";
import type { ContainerUser } from "../cell/container-user.ts";
import type { Removals } from "../cell/removals.ts";
import type { Engine } from "../engine/engine.ts";
import type { ContainerFacts } from "../plan.ts";
import type { RunnerHome } from "../runner-home.ts";
import { type ImageKernel, prepareImageKernel } from "./image-kernel.ts";
import type { ImageInEngine } from "./image-list.ts";

/** The kernels of one runner, by image and user. An image is examined once, and again when its name means another one. */
export class ImageKernels {
  readonly #kernels = new PromiseCache<ImageKernel>();
  readonly #removals: Removals;
  readonly #logger: Logger;

  constructor(removals: Removals, logger: Logger) {
    this.#removals = removals;
    this.#logger = logger;
  }

  /** `name` is for the container that examines it, where one is needed. */
  async get(
    image: ImageInEngine,
    { runtime, hasOwnKernel }: ContainerFacts,
    { engine, user, home, name }: { engine: Engine; user: ContainerUser; home: RunnerHome; name: string },
  ): Promise<ImageKernel> {
    const key = `${image.id} ${user.uid}`;
    const prepare = () => {
      this.#logger.info("examining the image", { image: image.name });
      const arch = engine.arch ?? "x64";
      const limits = { allowMemfd: true, allowAffinity: true, shieldsSupervisor: hasOwnKernel };
      const { runtimeDir, labels, processLimit, emptyDirectory } = home;
      return prepareImageKernel({
        ...{ engine, runtime, hasOwnKernel, image, user, runtimeDir, labels, processLimit, emptyDirectory, name },
        removals: this.#removals,
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
