import type { EgressEvent } from "../../egress/rules/events.ts";
import { quotedName } from "../../lib/quoted-name.ts";

/** A host that a run reached. */
export interface ReachedHost {
  readonly host: string;
  readonly port: number;
  /** number of requests */
  readonly requests: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** allowed requests that failed, and why the last one did */
  readonly failures: number;
  readonly failure?: string;
  /** the entry of `net.allowlist` that allowed the first request */
  readonly rule?: string;
}

/** A host that was denied. */
export interface RefusedHost {
  readonly host: string;
  readonly port: number;
  readonly requests: number;
  readonly reason: string;
  /** what would allow it */
  readonly remedy: string;
}

/** What a run did with its network. Sessions that share a cell share its record. */
export interface RunEgress {
  readonly allowed: readonly ReachedHost[];
  readonly denied: readonly RefusedHost[];
  /** hosts that are not listed because there were too many */
  readonly more: number;
  /** of all hosts, including those that are not listed */
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

const maxHosts = 100;
const maxNotes = 8;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Collects the proxy's decisions between two results. A program can contact any number of hosts, so the list is limited. */
export class EgressRecord {
  #allowed = new Map<string, Mutable<ReachedHost>>();
  #denied = new Map<string, Mutable<RefusedHost>>();
  /** attempts to send a secret to another host, kept apart: a hundred denied hosts before them must not hide them */
  #tried = new Map<string, Mutable<RefusedHost>>();
  /** bytes already counted, by connection: a long connection is reported more than once */
  readonly #told = new Map<number, { sent: number; received: number }>();
  #more = 0;
  #sentBytes = 0;
  #receivedBytes = 0;

  add(event: EgressEvent): void {
    switch (event.type) {
      case "allowed": {
        this.#told.delete(event.id); // a restarted proxy counts from zero
        const host = this.#reached(event);
        if (!host) return;
        host.requests++;
        host.rule ??= event.rule;
        return;
      }
      case "failed": {
        const host = this.#reached(event);
        if (!host) return;
        host.requests++;
        host.failures++;
        host.failure = event.reason;
        return;
      }
      case "denied": {
        const { host, port, reason, remedy } = event;
        const list = event.code === "secret" ? this.#tried : this.#denied;
        const known = this.#entry(list, `${host} ${port} ${reason}`, () => {
          return { host, port, requests: 0, reason, remedy };
        });
        if (known) known.requests++;
        return;
      }
      case "progress":
      case "closed": {
        const before = this.#told.get(event.id) ?? { sent: 0, received: 0 };
        if (event.type === "closed") this.#told.delete(event.id);
        else this.#told.set(event.id, { sent: event.sentBytes, received: event.receivedBytes });
        const [sent, received] = [event.sentBytes - before.sent, event.receivedBytes - before.received];
        if (sent === 0 && received === 0) return;
        this.#sentBytes += sent;
        this.#receivedBytes += received;
        const host = this.#reached(event);
        if (!host) return;
        host.sentBytes += sent;
        host.receivedBytes += received;
        return;
      }
    }
  }

  /** What was collected since the last call. */
  take(): RunEgress {
    const denied = [...this.#tried.values(), ...this.#denied.values()];
    const taken = { allowed: [...this.#allowed.values()], denied, more: this.#more, ...this.#totals() };
    this.#allowed = new Map();
    this.#denied = new Map();
    this.#tried = new Map();
    this.#more = 0;
    this.#sentBytes = 0;
    this.#receivedBytes = 0;
    return taken;
  }

  #totals() {
    return { sentBytes: this.#sentBytes, receivedBytes: this.#receivedBytes };
  }

  #reached({ host, port }: { host: string; port: number }): Mutable<ReachedHost> | undefined {
    return this.#entry(this.#allowed, `${host} ${port}`, () => {
      return { host, port, requests: 0, sentBytes: 0, receivedBytes: 0, failures: 0 };
    });
  }

  #entry<Entry>(entries: Map<string, Entry>, key: string, make: () => Entry): Entry | undefined {
    const known = entries.get(key);
    if (known) return known;
    if (entries.size >= maxHosts) {
      this.#more++;
      return undefined;
    }
    const made = make();
    entries.set(key, made);
    return made;
  }
}

/** Denied hosts as sentences: over TLS, curl and git do not show the proxy's reason. */
export function egressNotes({ denied, more }: RunEgress): string[] {
  const notes = denied.slice(0, maxNotes).map(({ host, port, requests, reason, remedy }) => {
    const name = quotedName(host); // over SOCKS, a name can be any text
    const where = host === "" ? "a request" : port === 0 ? name : `${name}:${port}`;
    const often = requests > 1 ? ` (${requests} times)` : "";
    return `network: ${where} was refused${often}: ${reason}; ${remedy}`;
  });
  const rest = denied.length - notes.length + more;
  return rest > 0 ? [...notes, `network: ${rest} more refusals`] : notes;
}
