import type { EngineAddress } from "./engine-address.ts";

/** Long enough for runners that are asked one after the other, and too short for an engine that comes back to be missed. */
const rememberedMs = 1_000;

/** Engines that were asked a moment ago and did not answer in time: runners that share one do not wait for it once each. */
export class SilentEngines {
  readonly #silent = new Map<string, { readonly error: unknown; readonly sinceMs: number }>();

  note({ shown }: EngineAddress, error: unknown): void {
    this.#silent.set(shown, { error, sinceMs: performance.now() });
  }

  /** What it failed with, if that was a moment ago. */
  failureOf({ shown }: EngineAddress): unknown {
    const last = this.#silent.get(shown);
    return last && performance.now() - last.sinceMs < rememberedMs ? last.error : undefined;
  }
}
