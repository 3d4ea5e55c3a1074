import { ShortMemory } from "../../lib/files/short-memory.ts";
import type { CgroupSupport } from "./cgroup/cgroup.ts";
import { readText } from "./host-facts.ts";
import { rememberMs } from "./remembered-probe.ts";

/** Tries whether groups can be created and limited; throws if not. */
export type Trial = () => Promise<void>;

/**
 * A trial of cgroups whose success is remembered between processes: making and removing four groups costs 5 ms. Each cell still
 * gets groups of its own with all limits, and does not start without them; then `forget` makes the next trial a real one.
 */
export class RememberedTrial {
  readonly #memory: ShortMemory;
  #rechecking: Promise<void> | undefined;

  constructor(options: { runtimeDir?: string | undefined } = {}) {
    this.#memory = new ShortMemory("cgroups", { keepMs: rememberMs.keep, runtimeDir: options.runtimeDir });
  }

  /** Runs the trial, unless one of the same groups succeeded a short time ago. */
  async pass(support: CgroupSupport, trial: Trial): Promise<void> {
    const key = keyOf(support);
    const memory = await this.#memory.recall(key);
    if (memory?.value !== true) {
      await trial();
      await this.#memory.remember(key, true);
    } else if (memory.ageMs > rememberMs.recheck) this.#rechecking = this.#recheck(key, trial);
  }

  forget(): Promise<void> {
    return this.#memory.forget();
  }

  /** Resolves when no trial group exists any more. */
  async settled(): Promise<void> {
    await this.#rechecking;
  }

  async #recheck(key: string, trial: Trial): Promise<void> {
    try {
      await trial();
      await this.#memory.remember(key, true);
    } catch {
      await this.#memory.forget();
    }
  }
}

/** Everything that the outcome depends on: the groups, the user and the boot. */
function keyOf(support: CgroupSupport): string {
  const groups = support.kind === "v2" ? { ...support, controllers: [...support.controllers] } : support;
  return JSON.stringify([groups, process.getuid?.(), readText("/proc/sys/kernel/random/boot_id").trim()]);
}
