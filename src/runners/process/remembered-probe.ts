import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { release } from "node:os";
import { z } from "zod";
import { ShortMemory } from "../../lib/files/short-memory.ts";
import { findHostRoot } from "../linux/mounts/host-root.ts";
import { readHostFacts, readText } from "./host-facts.ts";
import { type BubblewrapProbe, probeBubblewrap } from "./probe.ts";

/** How long a success is believed, and from which age on it is checked again in the background. */
export const rememberMs = { keep: 600_000, recheck: 60_000 };

/** What a success says. Never the path of bubblewrap: a false memory could name another program. */
const remembered = z.strictObject({
  version: z.string().regex(/^[\d.]{1,20}$|^unknown$/),
  layouts: z.strictObject({ template: z.boolean(), direct: z.boolean() }).refine((one) => one.template || one.direct),
  mapsUsers: z.boolean(),
});

/** A probe of bubblewrap whose success is remembered between processes: three jails cost 50 ms. */
export class RememberedProbe {
  readonly #memory: ShortMemory;
  readonly #probe: typeof probeBubblewrap;

  constructor(options: { runtimeDir?: string | undefined; probe?: typeof probeBubblewrap } = {}) {
    this.#memory = new ShortMemory("bubblewrap", { keepMs: rememberMs.keep, runtimeDir: options.runtimeDir });
    this.#probe = options.probe ?? probeBubblewrap;
  }

  /**
   * Only decides whether cells are tried, and in which layout. Each cell is still started with all its namespaces, and fails if
   * one of them does not start; then `isRemembered` tells the caller to ask again.
   */
  async find(limitMs: number): Promise<BubblewrapProbe & { readonly isRemembered?: true }> {
    const { facts, key } = this.#question();
    const memory = await this.#memory.recall(key);
    const known = remembered.safeParse(memory?.value);
    if (memory === undefined || !known.success || facts.bubblewrap === undefined) return this.findAgain(limitMs);
    if (memory.ageMs > rememberMs.recheck) void this.findAgain(limitMs).catch(() => {});
    return { available: true, path: facts.bubblewrap, ...known.data, isRemembered: true };
  }

  /** Asks without the memory, and corrects it. */
  async findAgain(limitMs: number): Promise<BubblewrapProbe> {
    const { facts, key } = this.#question();
    const found = await this.#probe(limitMs, facts);
    if (!found.available) {
      await this.#memory.forget();
      return found;
    }
    const { version, layouts, mapsUsers } = found;
    void this.#memory.remember(key, { version, layouts, mapsUsers });
    return found;
  }

  /** Everything that the answer depends on, as far as it can be read without starting a jail. */
  #question() {
    const [facts, root] = [readHostFacts(), findHostRoot()];
    const program = facts.bubblewrap === undefined ? undefined : statSync(facts.bubblewrap, { throwIfNoEntry: false });
    const parts = [
      ...[facts, root, release(), process.getuid?.(), program && [program.ino, program.size, program.mtimeMs]],
      ...["/proc/sys/kernel/random/boot_id", "/proc/self/uid_map", "/proc/self/attr/current"].map(readText),
    ];
    return { facts, key: createHash("sha256").update(JSON.stringify(parts)).digest("hex") };
  }
}
