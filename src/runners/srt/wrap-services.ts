import type { Cleanup } from "../../lib/cleanup.ts";
import type { SrtSettings } from "./settings.ts";
import { WrapService, type WrapServiceParts } from "./wrap-service.ts";

/** One process of srt per uid, because its command depends on who can access the paths. One that ended is replaced. */
export class WrapServices {
  readonly #parts: Omit<WrapServiceParts, "uid">;
  readonly #cleanup: Cleanup;
  readonly #services = new Map<number | undefined, WrapService>();

  /** `cleanup` ends them. */
  constructor(parts: Omit<WrapServiceParts, "uid">, cleanup: Cleanup) {
    this.#parts = parts;
    this.#cleanup = cleanup;
  }

  of(uid: number | undefined): WrapService {
    const known = this.#services.get(uid);
    if (known?.isAlive) return known;
    const started = new WrapService({ ...this.#parts, uid });
    this.#services.set(uid, started);
    this.#cleanup.defer(() => started[Symbol.asyncDispose]());
    return started;
  }

  /**
   * Wraps a command. A killed process is known to be dead only when the OS reports it, so a command may be sent to one. Another
   * process then wraps it: nothing was started yet. Call `service.ended` after the command.
   */
  async wrap(
    uid: number | undefined,
    command: string,
    settings: SrtSettings,
    signal?: AbortSignal,
  ): Promise<{ readonly wrapped: string; readonly service: WrapService }> {
    const service = this.of(uid);
    try {
      return { wrapped: await service.wrap(command, settings, signal), service };
    } catch (error) {
      if (!service.hasVanished) throw error;
    }
    const other = this.of(uid);
    return { wrapped: await other.wrap(command, settings, signal), service: other };
  }
}
