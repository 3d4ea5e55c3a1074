import { createServer, type Server } from "node:http";
import type { Duplex } from "node:stream";
import { createSecureContext, type SecureContext } from "node:tls";
import { noKeys, type SessionKeys } from "../process/session-keys.ts";
import { ByteQuota } from "../rules/byte-quota.ts";
import {
  type Denial,
  deny,
  type EgressRequest,
  type EgressRules,
  malformed,
  type Permission,
} from "../rules/decide.ts";
import { type OnEgressEvent, printable } from "../rules/events.ts";
import { judge, judgeOngoing } from "../rules/judge-tunnel.ts";
import { defaultTimes, type EgressLimits, type EgressTimes, quotaOf } from "../rules/limits.ts";
import { rawRefusal } from "../rules/refusal-text.ts";
import { RequestRate } from "../rules/request-rate.ts";
import { Inspector } from "../tls/inspector.ts";
import { Clients } from "./clients.ts";
import { connectRequest } from "./connect.ts";
import { type Dialled, dial } from "./dial.ts";
import { Exchange } from "./exchange.ts";
import { forwardRequest } from "./forward.ts";
import { maxHeadBytes } from "./forward-head.ts";
import { LookupTurns } from "./lookup-turns.ts";
import type { OpenTls, ProxyContext } from "./proxy-context.ts";
import { type Resolve, resolveOnHost } from "./resolver.ts";
import { sayGoodbye } from "./say-goodbye.ts";
import { socksVersion } from "./socks.ts";
import { socksConnection } from "./socks-connection.ts";

export interface EgressProxyOptions {
  readonly rules: EgressRules;
  readonly onEvent: OnEgressEvent;
  readonly resolve?: Resolve;
  readonly times?: Partial<EgressTimes>;
  readonly keys?: SessionKeys;
  /** certificate authorities for servers whose TLS is inspected; default: Node's */
  readonly trust?: () => Promise<SecureContext>;
}

/** The proxy of one session: takes connections and forwards what the rules allow. */
export class EgressProxy implements ProxyContext {
  readonly keys: SessionKeys;
  readonly openTls: OpenTls | undefined;
  readonly trust: () => Promise<SecureContext>;
  #limits: EgressLimits;
  readonly #onEvent: OnEgressEvent;
  readonly #lookups: LookupTurns;
  readonly #rate: RequestRate;
  readonly #server: Server;
  /** per kind of refusal. The attack: a flood of malformed requests that hides a serious refusal from the log. */
  readonly #tellRates = new Map<Denial["code"], RequestRate>();
  readonly #clients = new Clients(() => this.#limits);
  readonly #exchanges = new Set<Exchange>();
  readonly #bytes = new ByteQuota();
  #rules: EgressRules;
  #exchangeCount = 0;
  #limitToldAt = Number.NEGATIVE_INFINITY;

  constructor(options: EgressProxyOptions) {
    this.#limits = { ...defaultTimes, ...options.times, ...quotaOf(options.rules) };
    this.#rules = options.rules;
    this.#onEvent = options.onEvent;
    this.#lookups = new LookupTurns(options.resolve ?? resolveOnHost);
    this.#rate = new RequestRate(this.limits.requests);
    this.#server = this.#makeServer();
    this.keys = options.keys ?? noKeys;
    this.trust = options.trust ?? (async () => createSecureContext());
    const inspector = this.keys.authority && new Inspector(this.keys.authority, this);
    this.openTls = inspector && ((client, early, target) => inspector.open(client, early, target));
  }

  get rules(): EgressRules {
    return this.#rules;
  }

  get limits(): EgressLimits {
    return this.#limits;
  }

  /** Serves one client. */
  accept(client: Duplex): void {
    client.on("error", () => {}); // without a listener, a client that resets would crash the process
    client.setMaxListeners(0); // each pipelined request adds a listener
    const admission = this.#clients.admit(client);
    if (admission === "dropped") return void client.destroy();
    if (admission === "leaving") {
      const { connections } = this.limits;
      const denial = this.#limit(
        `${connections} connections are open, all that net.connections allows`,
        "net.connections",
      );
      sayGoodbye(client, rawRefusal(503, denial));
      return;
    }
    client.once("readable", () => {
      const first: Buffer | null = client.read();
      if (first === null) return void client.destroy();
      if (first[0] === socksVersion) {
        void socksConnection(client, first, this)
          .catch(() => client.destroy())
          .finally(() => this.#clients.requestCame(client));
        return;
      }
      client.unshift(first);
      this.#server.emit("connection", client);
    });
  }

  /** Applies new rules at once: connections that they do not allow are closed. */
  update(rules: EgressRules): void {
    this.#rules = rules;
    this.#limits = { ...this.#limits, ...quotaOf(rules) };
    for (const exchange of [...this.#exchanges]) {
      const denial = this.#denialNow(exchange);
      if (!denial) continue;
      this.refuse(exchange.request, denial);
      exchange.cut(denial.reason);
    }
    const { requests, connections } = this.limits;
    this.#rate.change(requests);
    this.#holdToQuota();
    const surplus = this.#clients.surplus();
    if (surplus.length > 0) this.#limit(`net.connections now allows at most ${connections}`, "net.connections");
    for (const client of surplus) client.destroy();
  }

  /** Reports the bytes since the last report. */
  report(): void {
    for (const exchange of this.#exchanges) {
      const bytes = exchange.sentBytes + exchange.receivedBytes;
      if (bytes === exchange.reportedBytes) continue;
      exchange.reportedBytes = bytes;
      this.#tell("progress", exchange);
    }
  }

  close(): void {
    this.#clients.close();
    for (const exchange of [...this.#exchanges]) exchange.cut("the session was closed");
  }

  ask(request: EgressRequest): Permission | Denial {
    const { requests, connections } = this.limits;
    if (!this.#rate.take()) {
      return this.#limit(`more requests than net.requests allows, ${requests} per second`, "net.requests", request);
    }
    const spent = this.#bytes.used(this.#limits);
    if (spent) return this.#limit(spent.reason, spent.rule, request);
    if (this.#exchanges.size >= 2 * connections) {
      // The attack: hundreds of pipelined requests on one connection, each with its own connection to a server.
      return this.#limit(
        `${this.#exchanges.size} requests are under way, twice net.connections`,
        "net.connections",
        request,
      );
    }
    const verdict = judge(request, this.#rules);
    if (!verdict.allow) this.refuse(request, verdict);
    return verdict;
  }

  refuse({ host, port, via }: EgressRequest, denial: Denial, address?: string): void {
    const rate = this.#tellRates.get(denial.code) ?? new RequestRate(20, 500);
    this.#tellRates.set(denial.code, rate);
    if (!rate.take()) return; // record a flood once, not per request
    // Truncate: with a header name of thousands of characters the event would be too long to record.
    const [reason, remedy] = [printable(denial.reason, 400), printable(denial.remedy, 400)];
    this.#onEvent({
      type: "denied",
      via,
      host,
      port,
      code: denial.code,
      reason,
      remedy,
      ...(address ? { address } : {}),
    });
  }

  begin(request: EgressRequest): Exchange {
    const exchange = new Exchange(++this.#exchangeCount, request, {
      bytes: (sent, received) => {
        this.#bytes.add(sent, received);
        this.#holdToQuota();
      },
      end: (ended, failure) => {
        this.#exchanges.delete(ended);
        if (ended.isConnected) this.#tell("closed", ended, failure);
      },
    });
    this.#exchanges.add(exchange);
    return exchange;
  }

  resume(exchange: Exchange, { rule, needsTls }: Permission): void {
    const { host, port, via } = exchange.request;
    exchange.isConnected = true;
    exchange.isHeldToTls = needsTls;
    this.#onEvent({ type: "allowed", id: exchange.id, via, host, port, rule });
  }

  async dial(exchange: Exchange, permission: Permission): Promise<Dialled> {
    const { host, port, via } = exchange.request;
    exchange.isHeldToTls = permission.needsTls;
    const dialled = await dial(exchange.request, this.#lookups, this.limits.connectMs);
    if (exchange.hasEnded) {
      if (dialled.kind === "connected") dialled.socket.destroy();
      const denial = this.#denialNow(exchange);
      return denial ? { kind: "denied", denial, address: "" } : { kind: "failed", reason: "the connection was closed" };
    }
    if (dialled.kind === "connected") {
      this.resume(exchange, permission);
      return dialled;
    }
    if (dialled.kind === "denied") this.refuse(exchange.request, dialled.denial, dialled.address);
    else this.#onEvent({ type: "failed", via, host, port, rule: permission.rule, reason: dialled.reason });
    exchange.end();
    return dialled;
  }

  /** Why the rules in force would refuse an open exchange. */
  #denialNow({ request, isHeldToTls }: Exchange): Denial | undefined {
    const verdict = judgeOngoing(request, this.#rules);
    if (!verdict.allow) return verdict;
    if (!verdict.needsTls || isHeldToTls) return undefined;
    const { host, port } = request;
    return deny("needs_tls", `port ${port} of ${host} is for TLS now`, `add ${host}:${port} to net.allowlist`);
  }

  #makeServer(): Server {
    const server = createServer({ maxHeaderSize: maxHeadBytes, insecureHTTPParser: false });
    // Node's timeouts work only for servers that listen. This one is passed its connections, so `Clients` enforces them.
    Object.assign(server, { timeout: 0, keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 });
    server.maxHeadersCount = 0; // Node would silently drop the rest; `readForwardHead` checks the number
    server.on("request", (request, answer) => {
      this.#clients.requestCame(request.socket);
      answer.once("close", () => this.#clients.requestWent(request.socket));
      void forwardRequest(request, answer, this).catch(() => request.socket.destroy());
    });
    server.on("connect", (request, client: Duplex, early: Buffer) => {
      this.#clients.requestCame(client);
      void connectRequest(request.url ?? "", client, early, this).catch(() => client.destroy());
    });
    server.on("clientError", (error: NodeJS.ErrnoException, client: Duplex) => {
      if (!error.code?.startsWith("HPE_")) {
        client.destroy(); // already disconnected
        return;
      }
      const denial = malformed("this is not an HTTP request");
      this.refuse({ host: "", port: 0, via: "http" }, denial);
      if (client.writable) sayGoodbye(client, rawRefusal(400, denial));
      else client.destroy();
    });
    return server;
  }

  /** Cuts all connections once a quota is exceeded. */
  #holdToQuota(): void {
    const spent = this.#bytes.exceeded(this.#limits);
    if (!spent) return;
    const denial = this.#limit(spent.reason, spent.rule);
    for (const exchange of [...this.#exchanges]) exchange.cut(denial.reason);
  }

  /** Records at most one refusal per second. */
  #limit(reason: string, rule: string, request: EgressRequest = { host: "", port: 0, via: "connect" }): Denial {
    const denial = deny("limit", reason, `use less, or raise ${rule} in the policy`);
    const now = performance.now();
    if (now - this.#limitToldAt >= 1000) {
      this.#limitToldAt = now;
      this.refuse(request, denial);
    }
    return denial;
  }

  #tell(type: "progress" | "closed", exchange: Exchange, failure?: string): void {
    const { id, sentBytes, receivedBytes } = exchange;
    const { host, port } = exchange.request;
    this.#onEvent({ type, id, host, port, sentBytes, receivedBytes, ...(failure === undefined ? {} : { failure }) });
  }
}
