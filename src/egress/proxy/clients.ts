import type { Duplex } from "node:stream";
import type { EgressLimits } from "../rules/limits.ts";

interface Client {
  /** requests in progress */
  requests: number;
  /** runs while there are none */
  timer: NodeJS.Timeout | undefined;
}

/** The clients of a session's proxy: at most as many as the policy allows, and none that stay idle. */
export class Clients {
  readonly #limits: () => Pick<EgressLimits, "connections" | "headMs">;
  readonly #present = new Map<Duplex, Client>();
  /** over the limit, being refused */
  readonly #leaving = new Set<Duplex>();

  constructor(limits: () => Pick<EgressLimits, "connections" | "headMs">) {
    this.#limits = limits;
  }

  /** Whether one more client is below the limit. A client over it gets a refusal, unless too many are being refused. */
  admit(client: Duplex): "admitted" | "leaving" | "dropped" {
    const { connections } = this.#limits();
    if (this.#present.size >= connections) {
      // The attack: thousands of clients that do not read their refusal, until the proxy is out of file descriptors.
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

  /** The attack: clients that connect and never send a request, to use up the limit. */
  requestWent(client: Duplex): void {
    const known = this.#present.get(client);
    if (!known || --known.requests > 0) return;
    known.timer = setTimeout(() => client.destroy(), this.#limits().headMs);
  }

  /** Clients over the limit, newest first, so that long transfers can finish. */
  surplus(): readonly Duplex[] {
    return [...this.#present.keys()].slice(this.#limits().connections);
  }

  close(): void {
    for (const client of [...this.#present.keys(), ...this.#leaving]) client.destroy();
  }
}
