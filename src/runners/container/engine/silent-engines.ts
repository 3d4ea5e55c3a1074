import { CodecellError } from "../../../lib/errors.ts";
import type { EngineAddress } from "./engine-address.ts";

/** Long enough for runners that are asked one after the other, and too short for an engine that comes back to be missed. */
const rememberedMs = 1_000;

/** Engines that were asked a moment ago and did not answer in time: runners that share one do not wait for it once each. */
export class SilentEngines {
  readonly #silent = new Map<string, { readonly error: CodecellError; readonly sinceMs: number }>();

  /** Asks, unless that was in vain a moment ago. Engines that fail at once may well be asked again. */
  async unlessSilent<Answer>({ shown }: EngineAddress, ask: () => Promise<Answer>): Promise<Answer> {
    const last = this.#silent.get(shown);
    if (last && performance.now() - last.sinceMs < rememberedMs) throw last.error;
    try {
      return await ask();
    } catch (error) {
      if (error instanceof CodecellError && error.details.isTooSlow === true)
        this.#silent.set(shown, { error, sinceMs: performance.now() });
      throw error;
    }
  }
}
