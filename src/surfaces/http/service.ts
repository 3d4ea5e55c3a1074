import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { HashCache } from "../../artifacts/hash-cache.ts";
import { deadline } from "../../lib/deadline.ts";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import { AuditReader } from "../../service/audit/audit-reader.ts";
import { isWithheld } from "../../service/guest-error.ts";
import { Links } from "../../service/links/links.ts";
import type { ReleasePlace } from "../../service/runs/run-registry.ts";
import { allows, type Scope } from "../../service/tenants/scope.ts";
import { Tenants } from "../../service/tenants/tenants.ts";
import { isOver, type TokenStore } from "../../service/tenants/token-store.ts";
import type { Codecell } from "../../sessions/codecell.ts";
import type { McpServerOptions } from "../mcp/server.ts";
import { errorReply, HttpError } from "./answers/error-status.ts";
import { sendJson, sendRefusal } from "./answers/send-json.ts";
import { type Caller, callOf, goneSignal } from "./call.ts";
import { nameCheck } from "./known-names.ts";
import { defaultLimits, type HttpLimits } from "./limits.ts";
import { Metrics } from "./metrics.ts";
import { openApiDocument } from "./openapi.ts";
import type { Reply, Route } from "./route.ts";
import { Router } from "./router.ts";
import { routes } from "./routes.ts";

export interface ServiceOptions {
  readonly manager: Codecell;
  readonly tokens: TokenStore;
  readonly linkKey: Uint8Array;
  /** where sessions of other processes have their files, which links of those processes name; absent: nowhere */
  readonly stateDir?: string | undefined;
  /** where the audit of these sessions lies; absent: none is written */
  readonly auditDir?: string | undefined;
  readonly mcp: McpServerOptions;
  readonly logger: Logger;
  /** where relative paths of `rlm_load` start */
  readonly projectDir: string;
  readonly limits?: Partial<HttpLimits>;
  /** names under which clients reach the service, besides this machine's own */
  readonly hostNames?: readonly string[];
  readonly publicUrl?: string | undefined;
  /** lets this machine read the metrics without a token */
  readonly openMetrics?: boolean;
  readonly now?: () => number;
}

const mcpPath = "/mcp";
const mcpFlushMs = 1_000;
const sweepEveryMs = 2_000;

/** Answers requests, whatever listens for them. It owns its tenants; sessions belong to the manager it was given. */
export class HttpService implements AsyncDisposable {
  readonly manager: Codecell;
  readonly limits: HttpLimits;
  readonly links: Links;
  readonly stateDir: string | undefined;
  readonly audit: AuditReader | undefined;
  readonly metrics = new Metrics();
  readonly digests = new HashCache();
  readonly now: () => number;
  readonly #version: string;
  readonly #tokens: TokenStore;
  readonly #tenants: Tenants;
  readonly #router = new Router(routes);
  readonly #logger: Logger;
  readonly #openMetrics: boolean;
  readonly #checkNames: (request: IncomingMessage) => void;
  readonly #answering = new Map<Promise<void>, "mcp" | "rest">();
  readonly #draining = new AbortController();
  readonly #sweeping: NodeJS.Timeout;
  #openApi: object | undefined;
  #admissions = 0;
  #runs = 0;

  constructor(options: ServiceOptions) {
    const { manager, logger, mcp, projectDir, now = Date.now } = options;
    this.manager = manager;
    this.now = now;
    this.#version = mcp.version;
    this.limits = { ...defaultLimits, ...options.limits };
    this.links = new Links(options.linkKey, { baseUrl: options.publicUrl ?? "", now });
    const { auditDir, linkKey } = options;
    this.stateDir = options.stateDir;
    this.audit = auditDir === undefined ? undefined : new AuditReader(auditDir, linkKey);
    this.#tokens = options.tokens;
    this.#logger = logger;
    this.#openMetrics = options.openMetrics === true;
    this.#checkNames = nameCheck(options.hostNames ?? []);
    this.#tenants = new Tenants({
      ...{ manager, mcp, logger, projectDir, maxRuns: this.limits.runsPerToken },
      ...{ maxSessions: this.limits.sessionsPerToken, maxBodyBytes: this.limits.jsonBytes },
      takePlace: () => this.#takePlace(),
      fileLinks: this.links,
    });
    this.#sweeping = setInterval(() => void this.#sweep(), sweepEveryMs).unref();
  }

  /** A token that was removed or is over loses what runs for it, also while nobody asks for anything. */
  async #sweep(): Promise<void> {
    try {
      this.#tenants.keepOnly(await this.#tokens.all(), this.now());
    } catch (error) {
      this.#logger.warn("the tokens cannot be read", { error: messageOf(error) });
    }
  }

  /** Aborted when nothing new is taken any more: what would go on for ever ends with it. */
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  /** Answers one request; it fails for nobody. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    const kind = request.url?.startsWith(mcpPath) ? "mcp" : "rest";
    const answering = this.#answer(request, response).finally(() => this.#answering.delete(answering));
    this.#answering.set(answering, kind);
  }

  /** Made once. The attack: it takes a tenth of a second, in which nobody else is answered, and one token may ask many at once. */
  openApi(): object {
    this.#openApi ??= openApiDocument(routes, this.#version);
    return this.#openApi;
  }

  metricsText(): string {
    return this.metrics.text({
      ...{ requests: this.#answering.size, runs: this.#runs, tenants: this.#tenants.size },
      ...{ sessions: this.manager.aliveIds().length, pool: this.manager.poolStatistics },
    });
  }

  /** Whether some token still has this namespace: what was signed for one that is removed, or over, is worth nothing. */
  async knowsNamespace(namespace: string): Promise<boolean> {
    const nowMs = this.now();
    const tokens = await this.#tokens.all().catch(withheld);
    return tokens.some((token) => token.namespace === namespace && !isOver(token, nowMs));
  }

  /** Takes nothing new, and waits for what goes on: answers and runs. The caller decides how long. */
  async drain(): Promise<void> {
    this.#draining.abort();
    await this.#tenants.settled();
    const all = (kind: "mcp" | "rest") =>
      Promise.allSettled([...this.#answering].flatMap(([answer, of]) => (of === kind ? [answer] : [])));
    await all("rest");
    // Clients of MCP keep a stream open for as long as they live; what they called for has ended with its run.
    using limit = deadline(mcpFlushMs);
    await Promise.race([all("mcp"), once(limit.signal, "abort")]);
  }

  /** Stops what still runs, which ends every answer that waits for it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#draining.abort();
    clearInterval(this.#sweeping);
    await this.#tenants[Symbol.asyncDispose]();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAt = performance.now();
    const gone = goneSignal(response);
    let shown = "unknown"; // a path that somebody made up is no label
    try {
      const [pathname = "", search = ""] = splitTarget(request.url ?? "");
      this.#checkNames(request);
      if (this.draining.aborted) throw new HttpError("draining", "the service is shutting down", { headers: closing });
      shown = await this.#dispatch(request, response, { pathname, search, gone }, (path) => {
        shown = path;
      });
    } catch (error) {
      await this.#fail(error, request, response);
    } finally {
      const status = response.headersSent ? response.statusCode : clientGone;
      const ms = performance.now() - startedAt;
      this.metrics.request(methodOf(request), shown, status, ms);
      this.#logger.debug("a request was answered", { method: methodOf(request), route: shown, status, ms: round(ms) });
    }
  }

  async #dispatch(
    request: IncomingMessage,
    response: ServerResponse,
    { pathname, search, gone }: { pathname: string; search: string; gone: () => AbortSignal },
    found: (path: string) => void,
  ): Promise<string> {
    if (pathname === mcpPath) {
      found(mcpPath);
      await this.#asCaller(request, "run", ({ tenant }) => tenant.serveMcp(request, response));
      return mcpPath;
    }
    const match = attempt(() => this.#router.find(request.method ?? "", pathname));
    if ("error" in match) {
      // Who holds no token learns no more than that: not which paths there are.
      await this.#caller(request);
      throw match.error;
    }
    const { route, params } = match.value;
    found(route.path);
    const answer = async (caller: Caller | undefined) => {
      const call = await callOf(route, { params, search, request, gone, caller, service: this });
      await write(await route.handle(call), request, response, gone);
    };
    if (this.#isOpenTo(request, route)) await this.#admitted(() => answer(undefined));
    else await this.#asCaller(request, route.scope === "none" ? "read" : route.scope, answer);
    return route.path;
  }

  #isOpenTo(request: IncomingMessage, { scope }: Route): boolean {
    return scope === "none" || (scope === "metrics" && this.#openMetrics && isLocal(request));
  }

  async #asCaller(request: IncomingMessage, scope: Scope, work: (caller: Caller) => Promise<void>): Promise<void> {
    const caller = await this.#caller(request);
    const { token, tenant } = caller;
    if (!allows(token.scopes, scope)) {
      throw new HttpError("forbidden", `this token does not have the scope ${scope}`, {
        hint: "ask the owner of the service for a token that has it",
      });
    }
    if (tenant.requests.size >= this.limits.requestsPerToken) {
      throw this.#refuse("this token", this.limits.requestsPerToken, 429);
    }
    tenant.requests.set(request, token.sha256);
    try {
      await this.#admitted(() => work(caller));
    } finally {
      tenant.requests.delete(request);
    }
  }

  /**
   * Takes a place among the requests. Whoever showed no token takes none: strangers who send half a request each would
   * keep everybody else out; connections are what limits them.
   */
  async #admitted(work: () => Promise<void>): Promise<void> {
    if (this.#admissions >= this.limits.requests) throw this.#refuse("the service", this.limits.requests, 503);
    this.#admissions++;
    try {
      await work();
    } finally {
      this.#admissions--;
    }
  }

  async #caller(request: IncomingMessage): Promise<Caller> {
    const token = await this.#tokens.find(request.headers.authorization, this.now()).catch(withheld);
    this.#tenants.keepOnly(this.#tokens.current, this.now());
    if (token) return { token, tenant: this.#tenants.of(token) };
    throw new HttpError("unauthorized", "a valid token is needed", {
      hint: "send it as `Authorization: Bearer TOKEN`",
      headers: { "www-authenticate": "Bearer" },
    });
  }

  async #fail(error: unknown, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = errorReply(error);
    this.tellFailure(error, { isHeard: !response.destroyed });
    if (response.headersSent || response.destroyed) {
      response.destroy(); // half an answer must not look like a whole one
      return;
    }
    await sendRefusal(request, response, reply).catch(() => response.destroy());
  }

  /**
   * The reason, for whoever runs the service. In the message itself, and as an error where the caller is not told: where no log
   * is asked for, stderr has the words of errors and nothing else, and the caller is sent here. Clients that went away
   * (`isHeard: false`) make no errors.
   */
  tellFailure(error: unknown, { isHeard }: { isHeard: boolean }): void {
    if (error instanceof HttpError) return;
    const told = `a request failed: ${messageOf(error)}`;
    if (isHeard && isWithheld(error)) this.#logger.error(told, { error });
    else if (errorReply(error).status >= 500) this.#logger.warn(told, { error });
  }

  #refuse(who: string, most: number, status: number): HttpError {
    this.metrics.refused();
    return new HttpError("busy", `${who} has ${most} requests open, as many as it may`, { status, hint: "try again" });
  }

  #takePlace(): ReleasePlace {
    if (this.draining.aborted) throw new CodecellError("session_closed", "the service is shutting down");
    if (this.#runs >= this.limits.runs) {
      this.metrics.refused();
      throw new CodecellError("run_limit", "the service has as many runs as it may", { hint: "try again" });
    }
    this.#runs++;
    return (end) => {
      this.#runs--;
      if (end !== undefined) this.metrics.runEnded(end);
    };
  }
}

/** Whoever asks without a token must not learn where the tokens are, or what is wrong with their file: the log does. */
function withheld(cause: unknown): never {
  throw new CodecellError("internal", messageOf(cause), { cause });
}

/** what logs and counters call an answer that nobody waited for */
const clientGone = 499;
const closing = { connection: "close" };
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);

function methodOf({ method = "" }: IncomingMessage): string {
  return methods.has(method) ? method : "other";
}

/** From this machine, and not from a proxy on it that passes on what somebody else asked. */
function isLocal({ socket, headers }: IncomingMessage): boolean {
  const isPassedOn = ["forwarded", "x-forwarded-for", "x-real-ip", "via"].some((name) => headers[name] !== undefined);
  return !isPassedOn && /^(?:127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? "");
}

function splitTarget(target: string): [string, string] {
  const at = target.indexOf("?");
  return at === -1 ? [target, ""] : [target.slice(0, at), target.slice(at + 1)];
}

function attempt<T>(work: () => T): { value: T } | { error: unknown } {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
  }
}

async function write(reply: Reply, request: IncomingMessage, response: ServerResponse, gone: () => AbortSignal) {
  if ("send" in reply) await reply.send(response, gone());
  else if ("json" in reply) sendJson(request, response, { status: 200, ...reply });
  else response.writeHead(reply.status).end();
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
