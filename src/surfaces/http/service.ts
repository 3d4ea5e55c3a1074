import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import { AuditReader } from "../../service/audit/audit-reader.ts";
import type { MemoryLease } from "../../service/body-memory.ts";
import { EventHub } from "../../service/events/event-hub.ts";
import { namespaceOf } from "../../service/events/event-view.ts";
import { HashCache } from "../../service/files/served-file.ts";
import { gatewayTag } from "../../service/gateways/gateway-tag.ts";
import type { Gateways } from "../../service/gateways/gateways.ts";
import { Links } from "../../service/links/links.ts";
import { type ModelCallEvent, ModelLog } from "../../service/rlm/model-log.ts";
import type { ModelSource } from "../../service/rlm/model-source.ts";
import { SessionTrajectories } from "../../service/rlm/session-trajectories.ts";
import type { ReleaseSlot } from "../../service/runs/run-registry.ts";
import type { Tenant } from "../../service/tenants/tenant.ts";
import { Tenants } from "../../service/tenants/tenants.ts";
import { isExpired, type TokenRecord } from "../../service/tenants/token-record.ts";
import type { TokenStorage } from "../../service/tenants/token-storage.ts";
import { UsageSampler } from "../../service/usage/usage-sampler.ts";
import { codecellVersion } from "../../service/version.ts";
import { encodeSession } from "../../service/wire/sessions/session.ts";
import { encodeSample } from "../../service/wire/sessions/session-usage.ts";
import type { Codecell } from "../../sessions/codecell.ts";
import { sessionKey, shownId } from "../../sessions/session-id.ts";
import { HttpError } from "./answers/error-status.ts";
import { openLink } from "./answers/linked-reply.ts";
import { type SendLimits, sendBody } from "./answers/send-body.ts";
import { bytesHeaders, sendJson } from "./answers/send-json.ts";
import { callOf } from "./call.ts";
import { Forwarding, type RoutedSession } from "./forwarding/forwarding.ts";
import { mountPeers } from "./forwarding/mount-peers.ts";
import { sessionOfCall } from "./forwarding/session-of-call.ts";
import { type AdmittedCaller, Gate, type Incoming, type Mount, withheld } from "./gate.ts";
import type { HttpLimits } from "./limits.ts";
import type { Listening } from "./listen.ts";
import type { GatewayGauges } from "./metrics.ts";
import { openApiDocument } from "./openapi.ts";
import { requireAdmin, splitNamespace } from "./other-tenant.ts";
import { DashboardFiles } from "./page/dashboard-files.ts";
import { sendPage } from "./page/send-page.ts";
import type { Reply, Route } from "./route.ts";
import { Router } from "./router.ts";
import { routes } from "./routes.ts";
import { Statistics } from "./statistics.ts";
import type { WireTenantStatistics } from "./tenant-statistics.ts";

/** Options of an `HttpService`. */
export interface ServiceOptions {
  /** owns the sessions of the service; the caller disposes it */
  readonly codecell: Codecell;
  /** who may call */
  readonly tokens: TokenStorage;
  /** signs links to files; default: a random key, so that links are valid until the service stops */
  readonly linkKey?: Uint8Array;
  /** where other processes keep the files of their sessions, to serve links to them; default: no such links */
  readonly stateDir?: string | undefined;
  /** the directory of the audit; default: no audit */
  readonly auditDir?: string | undefined;
  /** a protocol in addition to the routes, such as MCP on /mcp */
  readonly mount?: Mount | undefined;
  readonly logger?: Logger;
  /** base directory for relative paths of `rlm_load`; default: the current directory */
  readonly projectDir?: string;
  /** models for code and sub-agents; default: none */
  readonly models?: ModelSource | undefined;
  readonly limits?: Partial<HttpLimits>;
  /** host names that clients may use, in addition to localhost */
  readonly hostNames?: readonly string[];
  /** public address of the service, for links; default: the address it listens on */
  readonly publicUrl?: string | undefined;
  /** lets this machine read the metrics without a token */
  readonly openMetrics?: boolean;
  /** whether `/` is the dashboard; default: true */
  readonly dashboard?: boolean;
  /** @internal the other services with the same database; default: this one is alone */
  readonly gateways?: Gateways | undefined;
  /** wall-clock milliseconds; default Date.now */
  readonly now?: () => number;
}

/** The HTTP API of one `Codecell`. `listen` opens a port for it; `handle` accepts requests from your own server. */
export class HttpService implements Listening, AsyncDisposable {
  readonly codecell: Codecell;
  /** @internal */
  readonly links: Links;
  /** @internal */
  readonly stateDir: string | undefined;
  /** @internal */
  readonly audit: AuditReader | undefined;
  /** @internal */
  readonly digests = new HashCache();
  /** @internal measures cells while somebody looks */
  readonly usage: UsageSampler;
  /** wall-clock milliseconds of its start */
  readonly startedMs: number;
  /** @internal what happens in the sessions of all tenants, for those who read it */
  readonly events: EventHub;
  /** @internal its metrics over the last hour */
  readonly statistics: Statistics;
  /** @internal the last model calls of each session */
  readonly modelCalls = new ModelLog();
  /** @internal what sub-agents did; undefined: it is not recorded */
  readonly trajectories: SessionTrajectories | undefined;
  /** @internal the other gateways; undefined: this one is alone */
  readonly gateways: Gateways | undefined;
  /** @internal */
  readonly forwarding: Forwarding | undefined;
  readonly #observing: Disposable;
  readonly #tokens: TokenStorage;
  readonly #tenants: Tenants;
  readonly #gate: Gate<Tenant>;
  readonly #router = new Router(routes);
  readonly #openMetrics: boolean;
  readonly #dashboard: DashboardFiles | undefined;
  readonly #now: () => number;
  #openApi: object | undefined;
  #runs = 0;

  constructor(options: ServiceOptions) {
    const {
      codecell,
      tokens,
      projectDir = process.cwd(),
      auditDir,
      linkKey = randomBytes(32),
      now = Date.now,
    } = options;
    this.codecell = codecell;
    this.links = new Links(linkKey, { baseUrl: options.publicUrl ?? "", now });
    this.stateDir = options.stateDir;
    const { stateDir } = options;
    this.trajectories =
      stateDir === undefined ? undefined : new SessionTrajectories(join(stateDir, "trajectories", "sessions"));
    void this.trajectories?.prune(Date.now()).catch(() => {});
    this.audit = auditDir === undefined ? undefined : new AuditReader(auditDir, linkKey);
    this.usage = new UsageSampler({ sessions: () => codecell.openSessions() });
    this.startedMs = now();
    this.events = new EventHub({ env: codecell.policy.env, describe: (key) => describeSession(codecell, key), now });
    this.#observing = codecell.observe((event, atMs) => {
      this.events.record(event, atMs);
      if (event.type === "model.call") this.#modelCalled(event, atMs);
      if (event.type === "session.closed" && !event.isKept) this.#sessionGone(event.session);
    });
    this.events.whileRead(() => this.usage.watch());
    this.usage.onSample(({ key: session }, sample) => {
      const { at: _, ...fields } = encodeSample(sample);
      this.events.publish({ type: "usage", session, atMs: sample.atMs, fields });
    });
    this.#now = now;
    this.#tokens = tokens;
    this.#openMetrics = options.openMetrics === true;
    this.#dashboard = options.dashboard === false ? undefined : new DashboardFiles();
    const { mount, limits, hostNames, logger, gateways } = options;
    this.gateways = gateways;
    const forwarding = gateways && new Forwarding(gateways, codecell);
    this.forwarding = forwarding;
    this.#gate = new Gate({
      ...{ tokens, mount, limits, hostNames, logger, now },
      ...(forwarding && gateways
        ? {
            isFromPeer: (request: IncomingMessage) => forwarding.isFromPeer(request),
            peers: {
              idTag: gatewayTag(gateways.lease.id),
              of: (tenant: Tenant, incoming: Incoming) => mountPeers(forwarding, tenant.namespace, incoming),
            },
          }
        : {}),
      holders: { of: (token) => this.#tenants.of(token), keepOnly: (all, nowMs) => this.#tenants.keepOnly(all, nowMs) },
      dispatch: (incoming) => this.#dispatch(incoming),
    });
    this.#tenants = new Tenants({
      ...{ codecell, projectDir, fileLinks: this.links, models: options.models },
      trajectories: this.trajectories,
      ...{ maxRuns: this.limits.runsPerToken, maxSessions: this.limits.sessionsPerToken },
      gateway: gateways?.lease.id,
      acquireSlot: () => this.#acquireSlot(),
      onRefused: () => this.#gate.metrics.refused(),
      ...(logger ? { logger } : {}),
    });
    this.statistics = new Statistics({
      metrics: this.#gate.metrics,
      gauges: () => this.#gauges(),
      onSample: (sample) => this.events.publish({ type: "statistics", atMs: now(), fields: { sample } }),
      now,
    });
  }

  /** @internal A gateway took a session or gave it back; without a key: nobody knows which. */
  sessionMoved(moved?: { readonly key: string; readonly gateway: string }): void {
    if (!moved) this.events.missed();
    else if (moved.gateway !== this.gateways?.lease.id) this.events.moved(moved.key);
  }

  /** @internal What each tenant did, with the names of the tokens; of one namespace, or of all. */
  async tenantStatistics(namespace: string | undefined): Promise<WireTenantStatistics[]> {
    const names = new Map((await this.#tokens.all().catch(withheld)).map((token) => [token.namespace, token.name]));
    const alive = this.codecell.aliveIds();
    const tenants = this.#tenants.all.filter((tenant) => namespace === undefined || tenant.namespace === namespace);
    return tenants.map(({ namespace: own, counts: { running, runs, refused, costUsd } }) => {
      const sessions = alive.filter((key) => key.startsWith(`${own}.`)).length;
      const tenant = names.get(own) ?? null;
      return { namespace: own, tenant, sessions, running, runs, refused, cost_usd: costUsd };
    });
  }

  #modelCalled(event: ModelCallEvent, atMs: number): void {
    const { session, costUsd = 0 } = event;
    this.modelCalls.add(event, atMs);
    this.statistics.spent(costUsd);
    this.#tenants.find(namespaceOf(session) ?? "")?.spent(costUsd);
  }

  #sessionGone(key: string): void {
    this.modelCalls.remove(key);
    void this.trajectories?.remove(key).catch((error: unknown) => this.logFailure(error, { isConnected: false }));
  }

  get limits(): HttpLimits {
    return this.#gate.limits;
  }

  /** Aborted when the service stops accepting requests, to end endless streams. */
  get draining(): AbortSignal {
    return this.#gate.draining;
  }

  /** Handles one request. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    this.#gate.handle(request, response);
  }

  listensAt(url: string): void {
    if (this.links.baseUrl === "") this.links.baseUrl = url;
  }

  /** Built once. The attack: building it blocks the service for 0.1 s, and a client can request it often. */
  openApi(): object {
    this.#openApi ??= openApiDocument(routes, codecellVersion());
    return this.#openApi;
  }

  metricsText(): string {
    const { answering: requests, bodyBytes } = this.#gate;
    const gateway = this.#gatewayGauges();
    return this.#gate.metrics.text({ requests, bodyBytes, tenants: this.#tenants.size, ...this.#gauges(), gateway });
  }

  #gatewayGauges(): GatewayGauges | undefined {
    const { gateways, forwarding } = this;
    if (!gateways || !forwarding) return undefined;
    const { isHeld: isLeaseHeld, peers } = gateways.lease;
    return { isLeaseHeld, peers: peers.length, forwarded: forwarding.counts };
  }

  #gauges() {
    const { codecell } = this;
    return { runs: this.#runs, sessions: codecell.aliveIds().length, pool: codecell.poolStatistics };
  }

  /** Whether a valid token has this namespace. Links of a removed or expired token are invalid. */
  async knowsNamespace(namespace: string): Promise<boolean> {
    return (await this.tenantTokens()).some((token) => token.namespace === namespace);
  }

  /** @internal The tenant of a valid token with this namespace. */
  async tenantOf(namespace: string): Promise<Tenant | undefined> {
    const token = (await this.tenantTokens()).find((one) => one.namespace === namespace);
    return token && this.#tenants.of(token);
  }

  /** @internal The valid tokens: one for each tenant. */
  async tenantTokens(): Promise<readonly TokenRecord[]> {
    const nowMs = this.#now();
    const tokens = await this.#tokens.all().catch(withheld);
    return tokens.filter((token) => !isExpired(token, nowMs));
  }

  /** @internal Memory for a large response to a link of this tenant. */
  responseMemory(tenant: Tenant): MemoryLease {
    return this.#gate.responsesOf(tenant.linked).lease();
  }

  logFailure(error: unknown, options: { isConnected: boolean }): void {
    this.#gate.logFailure(error, options);
  }

  /** Accepts no new requests, and waits for open requests and runs. The caller sets the time limit. */
  drain(): Promise<void> {
    return this.#gate.drain(() => this.#tenants.settled());
  }

  /** Stops all runs, which ends the requests that wait for them. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#observing[Symbol.dispose]();
    this.statistics[Symbol.dispose]();
    this.#gate[Symbol.dispose]();
    this.forwarding?.[Symbol.dispose]();
    this.usage[Symbol.dispose]();
    await this.#tenants[Symbol.asyncDispose]();
  }

  async #dispatch({ request, response, pathname, search, gone, found }: Incoming): Promise<void> {
    const dashboard = this.#dashboard;
    if (dashboard && DashboardFiles.owns(pathname)) {
      found("/");
      return this.#gate.admitted(() => sendPage(dashboard, pathname, request, response));
    }
    const match = attempt(() => this.#router.find(request.method ?? "", pathname));
    if ("error" in match) {
      // Without a token, callers must not learn which paths exist.
      await this.#gate.caller(request);
      throw match.error;
    }
    const { route, params } = match.value;
    found(route.path);
    const answer = async (admitted: AdmittedCaller<Tenant> | undefined) => {
      const { namespace, ...query } = splitNamespace(search, route);
      const caller = admitted && namespace !== undefined ? await this.#actingFor(namespace, admitted) : admitted;
      // The attack: a removed token of an admin goes on watching a run of another tenant, which does not end with it.
      using _acting =
        caller === admitted ? undefined : whenAborted(admitted?.tenant.ended, () => request.socket.destroy());
      const { forwarding } = this;
      const named = forwarding && sessionOfCall(route, { params, ...query, caller, service: this });
      if (named && (await this.#passOn(forwarding, named, caller, { request, response, gone }))) return;
      const call = await callOf(route, { params, ...query, request, gone, caller, service: this });
      const limits = { memory: caller?.memory, stallMs: this.limits.stallMs, gone };
      const reply = () => route.handle(call);
      const send = (made: Reply) => write(made, request, response, limits);
      await (named ? forwarding.whileHeld(response, reply, send) : send(await reply()));
      if (route.method !== "GET" && caller && params.session !== undefined) {
        this.events.changed(sessionKey(call.tenant.namespace, params.session)); // not every change is an event
      }
    };
    // The attack: tokens that use up all requests of the service would have an orchestrator restart it, for all tenants.
    if (route.isProbe) await answer(undefined);
    else if (this.#isOpenTo(request, route)) await this.#gate.admitted(() => answer(undefined));
    else await this.#gate.asCaller(request, route.scope === "none" ? "read" : route.scope, answer);
  }

  /** Passes a request on if another gateway has its session. A request with a link counts for the tenant of the link here too. */
  async #passOn(
    forwarding: Forwarding,
    named: RoutedSession,
    caller: AdmittedCaller<Tenant> | undefined,
    exchange: Pick<Incoming, "request" | "response" | "gone">,
  ): Promise<boolean> {
    const namespace = caller ? undefined : namespaceOf(named.key);
    using _open = namespace === undefined ? undefined : await openLink(this, namespace, exchange.request);
    return await forwarding.passOn(named, exchange);
  }

  /** An admin with the sessions of another tenant. Limits, memory and log are still those of the admin's own token. */
  async #actingFor(namespace: string, admin: AdmittedCaller<Tenant>): Promise<AdmittedCaller<Tenant>> {
    requireAdmin(admin.token.scopes, "`namespace`");
    const tenant = await this.tenantOf(namespace);
    if (tenant) return { ...admin, tenant };
    throw new HttpError("not_found", "no token has this namespace", {
      hint: "GET /v1/sessions?namespaces=all lists the sessions of all tokens, with their namespaces",
    });
  }

  #isOpenTo(request: IncomingMessage, { scope }: Route): boolean {
    return scope === "none" || (scope === "metrics" && this.#openMetrics && isLocal(request));
  }

  #acquireSlot(): ReleaseSlot {
    if (this.draining.aborted) throw new CodecellError("session_closed", "the service is shutting down");
    if (this.#runs >= this.limits.runs) {
      this.#gate.metrics.refused();
      throw new CodecellError("run_limit", `the service has ${this.#runs} runs, which is its limit`, {
        hint: "try again",
      });
    }
    this.#runs++;
    const startedAt = performance.now();
    return (end) => {
      this.#runs--;
      if (end === undefined) return;
      this.#gate.metrics.runEnded(end);
      this.statistics.runEnded(performance.now() - startedAt);
    };
  }
}

async function describeSession(codecell: Codecell, key: string) {
  const info = await codecell.peek(key);
  if (!info) return undefined;
  return { isBusy: info.isBusy, fields: { session: encodeSession({ ...info, id: shownId(key) }) } };
}

function whenAborted(signal: AbortSignal | undefined, end: () => void): Disposable {
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener("abort", end) };
}

/** Whether a request comes from this machine, and not through a proxy on it. */
function isLocal({ socket, headers }: IncomingMessage): boolean {
  const isForwarded = ["forwarded", "x-forwarded-for", "x-real-ip", "via"].some((name) => headers[name] !== undefined);
  return !isForwarded && /^(?:127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? "");
}

function attempt<T>(work: () => T): { value: T } | { error: unknown } {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
  }
}

async function write(
  reply: Reply,
  request: IncomingMessage,
  response: ServerResponse,
  limits: SendLimits,
): Promise<void> {
  if ("send" in reply) await reply.send(response, limits.gone());
  else if ("json" in reply) await sendJson(request, response, { status: 200, ...reply }, limits);
  else if ("bytes" in reply)
    await sendBody(
      request,
      response,
      { headers: { ...bytesHeaders(reply.contentType), ...reply.headers }, parts: reply.bytes },
      limits,
    );
  else response.writeHead(reply.status).end();
}
