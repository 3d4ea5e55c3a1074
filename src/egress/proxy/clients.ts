import type { Duplex } from "node:stream";
import type { EgressLimits } from "../rules/limits.ts";

interface Client {
  /** being answered */
  requests: number;
  /** runs while none is */
  timer: NodeJS.Timeout | undefined;
}

/** Who is connected to a session's proxy: no more at once than the policy allows, and nobody who asks for nothing. */
export class Clients {
  readonly #limits: () => Pick<EgressLimits, "connections" | "headMs">;
  readonly #present = new Map<Duplex, Client>();
  /** over the limit, and being told so */
  readonly #leaving = new Set<Duplex>();

  constructor(limits: () => Pick<EgressLimits, "connections" | "headMs">) {
    this.#limits = limits;
  }

  /** Whether there is a place for one more; one without a place may be told so, unless too many are being told. */
  admit(client: Duplex): "admitted" | "leaving" | "dropped" {
    const { connections } = this.#limits();
    if (this.#present.size >= connections) {
      // The attack: clients by the thousand that do not even take the refusal, until there is no descriptor left for others.
      if (this.#leaving.size >= connections) return "dropped";
      this.#leaving.add(client);
      client.once("close", () => this.#leaving.delete(client));
      return "leaving";
    }
    this.#present.set(client, { requests: 1, timer: undefined });
    client.once("close", () => {
      clearTimeout(this.#present.get(client)?.timer);
      this.#present.delete(client);
    });
    this.requestWent(client);
    return "admitted";
  }

  requestCame(client: Duplex): void {
    const known = this.#present.get(client);
    if (!known) return;
    known.requests++;
    clearTimeout(known.timer);
  }

  /** Stops clients that hold a place with a request that never comes. */
  requestWent(client: Duplex): void {
    const known = this.#present.get(client);
    if (!known || --known.requests > 0) return;
    known.timer = setTimeout(() => client.destroy(), this.#limits().headMs);
  }

  /** Those for whom there is no place any more. The youngest go first: what has been at it for long keeps its place. */
  surplus(): readonly Duplex[] {
    return [...this.#present.keys()].slice(this.#limits().connections);
  }

  close(): void {
    for (const client of [...this.#present.keys(), ...this.#leaving]) client.destroy();
  }
}
