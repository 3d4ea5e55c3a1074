import { CodecellError } from "../../lib/errors.ts";

const mostKept = 1000;

/** Why sessions ended without their callers' doing, for the next call to hear. */
export class Tombstones {
  readonly #reasons = new Map<string, string>();

  add(id: string, why: string): void {
    this.#reasons.set(id, why);
    const [oldest] = this.#reasons.keys();
    if (this.#reasons.size > mostKept && oldest !== undefined) this.#reasons.delete(oldest);
  }

  remove(id: string): void {
    this.#reasons.delete(id);
  }

  /** The next call after a cull is told; the one after that starts afresh. */
  tellOnce(id: string): void {
    const why = this.#reasons.get(id);
    if (why === undefined) return;
    this.#reasons.delete(id);
    throw new CodecellError("session_culled", `session ${id} expired: ${why}; its variables and files are lost`, {
      hint: "call again to start it again",
    });
  }
}
