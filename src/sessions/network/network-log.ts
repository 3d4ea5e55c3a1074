import type { DenialCode } from "../../egress/rules/decide.ts";
import type { EgressEvent } from "../../egress/rules/events.ts";

/** One decision of the proxy. The host is text from a cell. */
export interface NetworkEntry {
  readonly atMs: number;
  /** the only run of the cell at that time; undefined: there was none, or several */
  readonly run: number | undefined;
  readonly host: string;
  readonly port: number;
  readonly verdict: "allowed" | "denied";
  /** the rule of the policy that decided, such as `net.allowlist: *.example` */
  readonly rule: string;
  /** why it was denied, or why it failed although it was allowed */
  readonly reason: string | undefined;
  /** the resolved address, if it was denied for that; not for the cell, which would learn the host's network */
  readonly address: string | undefined;
  /** undefined: no connection was made */
  readonly sentBytes: number | undefined;
  readonly receivedBytes: number | undefined;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** A run that uses the network; its session may get another id. */
interface NetworkUser {
  readonly session: () => string;
  readonly run: number;
}

interface KeptEntry {
  readonly entry: Writable<NetworkEntry>;
  /** undefined: of any session in the cell */
  readonly user: NetworkUser | undefined;
}

const maxEntries = 1_000;

/** What decided about a request, by the code of a denial. */
const decidedBy: Readonly<Record<DenialCode, string>> = {
  malformed: "requests must be well-formed",
  network_off: "net.enabled",
  denied: "net.deny",
  model_host: "net.allowlist: model providers need an entry of their own",
  not_named: "net.allowlist",
  port_not_named: "net.allowlist: the port is not named",
  needs_tls: "net.allowlist: the port is for TLS",
  socks_needs_port: "net.allowlist: SOCKS needs an entry with a port",
  address: "private and local addresses are refused",
  server_name: "the TLS server name must match the host",
  not_inspected: "net.inspect",
  request: "net.rules",
  secret: "net.secrets",
  limit: "limits of net",
};

/** The last decisions about the network of one cell, as they happen. */
export class NetworkLog {
  readonly #kept: KeptEntry[] = [];
  readonly #open = new Map<number, KeptEntry>();
  readonly #users = new Set<NetworkUser>();
  readonly #now: () => number;
  readonly #limit: number;
  #dropped = 0;

  constructor({ limit = maxEntries, now = Date.now }: { limit?: number; now?: () => number } = {}) {
    this.#limit = limit;
    this.#now = now;
  }

  /** Attributes entries to this run until the result is called. */
  runStarts(user: NetworkUser): () => void {
    this.#users.add(user);
    return () => void this.#users.delete(user);
  }

  add(event: EgressEvent): void {
    switch (event.type) {
      case "allowed": {
        const kept = this.#keep(event, { verdict: "allowed", rule: `net.allowlist: ${event.rule}` });
        Object.assign(kept.entry, { sentBytes: 0, receivedBytes: 0 });
        this.#open.set(event.id, kept);
        return;
      }
      case "failed":
        this.#keep(event, { verdict: "allowed", rule: ruleOfAllowed(event.rule), reason: event.reason });
        return;
      case "denied": {
        const { code, reason, address } = event;
        this.#keep(event, { verdict: "denied", rule: decidedBy[code], reason, address });
        return;
      }
      case "progress":
      case "closed": {
        const { id, sentBytes, receivedBytes, failure } = event;
        const kept = this.#open.get(id);
        if (kept)
          Object.assign(kept.entry, { sentBytes, receivedBytes }, failure === undefined ? {} : { reason: failure });
        if (event.type === "closed") this.#open.delete(id);
      }
    }
  }

  /** The entries of a session, oldest first, and how many older ones of its cell are gone. */
  list(session: string): { readonly entries: readonly NetworkEntry[]; readonly dropped: number } {
    const own = this.#kept.filter(({ user }) => user === undefined || user.session() === session);
    return { entries: own.map(({ entry }) => ({ ...entry })), dropped: this.#dropped };
  }

  #keep(
    { host, port }: { readonly host: string; readonly port: number },
    decision: Pick<NetworkEntry, "verdict" | "rule"> & { reason?: string; address?: string | undefined },
  ): KeptEntry {
    const [only] = this.#users.size === 1 ? this.#users : [];
    const nothing = { reason: undefined, address: undefined, sentBytes: undefined, receivedBytes: undefined };
    const entry = { atMs: this.#now(), run: only?.run, host, port, ...nothing, ...decision };
    const kept = { entry, user: only };
    this.#kept.push(kept);
    if (this.#kept.length > this.#limit) {
      this.#kept.shift();
      this.#dropped++;
    }
    return kept;
  }
}

function ruleOfAllowed(entry: string | undefined): string {
  return entry === undefined ? "net.allowlist" : `net.allowlist: ${entry}`;
}
