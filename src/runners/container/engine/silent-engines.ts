import { CodecellError } from "../../../lib/errors.ts";
import type { EngineAddress } from "./engine-address.ts";

/** Long enough to probe several runners in turn, short enough to notice an engine that answers again. */
const rememberedMs = 1_000;

/** Engines that timed out a moment ago, so that runners that share an engine do not each wait for it. */
export class SilentEngines {
  readonly #silent = new Map<string, { readonly error: CodecellError; readonly sinceMs: number }>();

  /** Calls `ask` unless the engine timed out a moment ago. Engines that fail at once are asked again. */
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
