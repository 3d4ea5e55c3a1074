import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { CodecellError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import { AuditReader } from "../../service/audit/audit-reader.ts";
import { HashCache } from "../../service/files/served-file.ts";
import { Links } from "../../service/links/links.ts";
import type { ModelSource } from "../../service/rlm/model-source.ts";
import type { ReleaseSlot } from "../../service/runs/run-registry.ts";
import type { Tenant } from "../../service/tenants/tenant.ts";
import { Tenants } from "../../service/tenants/tenants.ts";
import { isExpired, type TokenStore } from "../../service/tenants/token-store.ts";
import { codecellVersion } from "../../service/version.ts";
import type { Codecell } from "../../sessions/codecell.ts";
import { type SendLimits, sendBody } from "./answers/send-body.ts";
import { bytesHeaders, sendJson } from "./answers/send-json.ts";
import { callOf } from "./call.ts";
import { type AdmittedCaller, Gate, type Incoming, type Mount, withheld } from "./gate.ts";
import type { HttpLimits } from "./limits.ts";
import type { Listening } from "./listen.ts";
import { openApiDocument } from "./openapi.ts";
import type { Reply, Route } from "./route.ts";
import { Router } from "./router.ts";
import { routes } from "./routes.ts";

/** Options of an `HttpService`. */
export interface ServiceOptions {
  /** owns the sessions of the service; the caller disposes it */
  readonly codecell: Codecell;
  /** who may call */
  readonly tokens: TokenStore;
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
  readonly #tokens: TokenStore;
  readonly #tenants: Tenants;
  readonly #gate: Gate<Tenant>;
  readonly #router = new Router(routes);
  readonly #openMetrics: boolean;
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
    this.audit = auditDir === undefined ? undefined : new AuditReader(auditDir, linkKey);
    this.#now = now;
    this.#tokens = tokens;
    this.#openMetrics = options.openMetrics === true;
    const { mount, limits, hostNames, logger } = options;
    this.#gate = new Gate({
      ...{ tokens, mount, limits, hostNames, logger, now },
      holders: { of: (token) => this.#tenants.of(token), keepOnly: (all, nowMs) => this.#tenants.keepOnly(all, nowMs) },
      dispatch: (incoming) => this.#dispatch(incoming),
    });
    this.#tenants = new Tenants({
      ...{ codecell, projectDir, fileLinks: this.links, models: options.models },
      ...{ maxRuns: this.limits.runsPerToken, maxSessions: this.limits.sessionsPerToken },
      acquireSlot: () => this.#acquireSlot(),
      ...(logger ? { logger } : {}),
    });
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
    return this.#gate.metrics.text({
      ...{
        requests: this.#gate.answering,
        bodyBytes: this.#gate.bodyBytes,
        runs: this.#runs,
        tenants: this.#tenants.size,
      },
      ...{ sessions: this.codecell.aliveIds().length, pool: this.codecell.poolStatistics },
    });
  }

  /** Whether a valid token has this namespace. Links of a removed or expired token are invalid. */
  async knowsNamespace(namespace: string): Promise<boolean> {
    const nowMs = this.#now();
    const tokens = await this.#tokens.all().catch(withheld);
    return tokens.some((token) => token.namespace === namespace && !isExpired(token, nowMs));
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
    this.#gate[Symbol.dispose]();
    await this.#tenants[Symbol.asyncDispose]();
  }

  async #dispatch({ request, response, pathname, search, gone, found }: Incoming): Promise<void> {
    const match = attempt(() => this.#router.find(request.method ?? "", pathname));
    if ("error" in match) {
      // Without a token, callers must not learn which paths exist.
      await this.#gate.caller(request);
      throw match.error;
    }
    const { route, params } = match.value;
    found(route.path);
    const answer = async (caller: AdmittedCaller<Tenant> | undefined) => {
      const call = await callOf(route, { params, search, request, gone, caller, service: this });
      const limits = { memory: caller?.memory, stallMs: this.limits.stallMs, gone };
      await write(await route.handle(call), request, response, limits);
    };
    if (this.#isOpenTo(request, route)) await this.#gate.admitted(() => answer(undefined));
    else await this.#gate.asCaller(request, route.scope === "none" ? "read" : route.scope, answer);
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
    return (end) => {
      this.#runs--;
      if (end !== undefined) this.#gate.metrics.runEnded(end);
    };
  }
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
    await sendBody(request, response, { headers: bytesHeaders(reply.contentType), parts: reply.bytes }, limits);
  else response.writeHead(reply.status).end();
}
