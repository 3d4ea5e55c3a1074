import { CodecellError } from "../../lib/errors.ts";

const mostKept = 1000;

/** Why sessions expired, for the next call with their id. */
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

  /** Throws for the first call after a session expired; the next call starts a new session. */
  tellOnce(id: string): void {
    const why = this.#reasons.get(id);
    if (why === undefined) return;
    this.#reasons.delete(id);
    throw new CodecellError("session_culled", `session ${id} expired: ${why}; its variables and files are lost`, {
      hint: "call again to start it again",
    });
  }
}
