import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { deadline } from "../../lib/deadline.ts";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import { isWithheld } from "../../service/guest-error.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import type { OpenRequests } from "../../service/tenants/open-requests.ts";
import { allows, type Scope } from "../../service/tenants/scope.ts";
import type { TokenRecord, TokenStore } from "../../service/tenants/token-store.ts";
import { errorReply, HttpError } from "./answers/error-status.ts";
import { sendRefusal } from "./answers/send-json.ts";
import { nameCheck } from "./known-names.ts";
import { defaultLimits, type HttpLimits } from "./limits.ts";
import { Metrics } from "./metrics.ts";

/** Who holds a token, as far as the gate needs to know. A `Tenant` is one. */
export interface TokenHolder {
  readonly requests: OpenRequests;
  readonly lazySandbox: LazySandbox;
  /** Takes over something that has to end before the sandbox does. */
  own(resource: AsyncDisposable): void;
}

/** The holder behind each token. */
export interface TokenHolders<Holder> {
  of(token: TokenRecord): Holder;
  /** Ends what belongs to tokens that were removed or have expired. */
  keepOnly(tokens: readonly TokenRecord[], nowMs: number): void;
}

/** Who calls. */
export interface Caller<Holder> {
  readonly token: TokenRecord;
  readonly tenant: Holder;
}

/** A protocol of its own on one path, such as MCP. It answers only callers that the gate let in. */
export interface Mount {
  readonly path: string;
  /** Opens the handler of one token, at its first request. */
  open(sandbox: LazySandbox, options: { readonly maxBodyBytes: number }): MountedHandler;
}

/** Answers the requests of one token on a mounted path. */
export interface MountedHandler extends AsyncDisposable {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** A request on its way to a handler. */
export interface Incoming {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly pathname: string;
  readonly search: string;
  /** aborted when the client disconnects */
  readonly gone: () => AbortSignal;
  /** Names the route for the log and the metrics; a path that a client made up is no label. */
  readonly found: (route: string) => void;
}

export interface GateOptions<Holder extends TokenHolder> {
  readonly tokens: TokenStore;
  readonly holders: TokenHolders<Holder>;
  /** Answers every path but the mount's; what it throws is sent as an error. */
  readonly dispatch: (incoming: Incoming) => Promise<void>;
  readonly mount?: Mount | undefined;
  readonly limits?: Partial<HttpLimits> | undefined;
  /** names under which clients reach the service, besides this machine's own */
  readonly hostNames?: readonly string[] | undefined;
  readonly logger?: Logger | undefined;
  readonly now: () => number;
}

const mountFlushMs = 1_000;
const sweepEveryMs = 2_000;

/** Every request passes here: host name, origin, token, scope and limits on the way in; errors, metrics and log on the way out. */
export class Gate<Holder extends TokenHolder> implements Disposable {
  readonly limits: HttpLimits;
  readonly metrics = new Metrics();
  readonly #options: GateOptions<Holder>;
  readonly #logger: Logger;
  readonly #checkNames: (request: IncomingMessage) => void;
  readonly #mounted = new WeakMap<Holder, MountedHandler>();
  readonly #answering = new Map<Promise<void>, "mount" | "route">();
  readonly #draining = new AbortController();
  readonly #sweeping: NodeJS.Timeout;
  #admissions = 0;

  constructor(options: GateOptions<Holder>) {
    this.#options = options;
    this.limits = { ...defaultLimits, ...options.limits };
    this.#logger = options.logger ?? silentLogger;
    this.#checkNames = nameCheck(options.hostNames ?? []);
    this.#sweeping = setInterval(() => void this.#sweep(), sweepEveryMs).unref();
  }

  /** Aborted when nothing new is accepted any more: endless streams end with it. */
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  /** Requests that are being answered. */
  get answering(): number {
    return this.#answering.size;
  }

  /** Answers one request; it never throws. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    const { mount } = this.#options;
    const kind = mount && request.url?.startsWith(mount.path) ? "mount" : "route";
    const answering = this.#answer(request, response).finally(() => this.#answering.delete(answering));
    this.#answering.set(answering, kind);
  }

  /** Lets in a caller whose token has the scope, and counts its request. */
  async asCaller(
    request: IncomingMessage,
    scope: Scope,
    work: (caller: Caller<Holder>) => Promise<void>,
  ): Promise<void> {
    const caller = await this.caller(request);
    const { token, tenant } = caller;
    if (!allows(token.scopes, scope)) {
      throw new HttpError("forbidden", `this token does not have the scope ${scope}`, {
        hint: "ask the owner of the service for a token with this scope",
      });
    }
    if (tenant.requests.size >= this.limits.requestsPerToken) {
      throw this.#busy("this token", this.limits.requestsPerToken, 429);
    }
    using _open = tenant.requests.enter(token.sha256, () => request.socket.destroy());
    await this.admitted(() => work(caller));
  }

  /**
   * Counts a request among those of the service. A request without a token does not count: strangers who send half a
   * request each would keep everybody else out. The limit on connections holds them back.
   */
  async admitted(work: () => Promise<void>): Promise<void> {
    if (this.#admissions >= this.limits.requests) throw this.#busy("the service", this.limits.requests, 503);
    this.#admissions++;
    try {
      await work();
    } finally {
      this.#admissions--;
    }
  }

  /** Who sent a request; throws `unauthorized` without a valid token. */
  async caller(request: IncomingMessage): Promise<Caller<Holder>> {
    const { tokens, holders, now } = this.#options;
    const token = await tokens.find(request.headers.authorization, now()).catch(withheld);
    holders.keepOnly(tokens.current, now());
    if (token) return { token, tenant: holders.of(token) };
    throw new HttpError("unauthorized", "a valid token is needed", {
      hint: "send it as `Authorization: Bearer TOKEN`",
      headers: { "www-authenticate": "Bearer" },
    });
  }

  /**
   * Logs why a request failed. As an error, with the reason in the message, where the caller is not told: without a log
   * file, stderr shows only the messages of errors. A client that disconnected (`isHeard: false`) causes no error.
   */
  tellFailure(error: unknown, { isHeard }: { isHeard: boolean }): void {
    if (error instanceof HttpError) return;
    const told = `a request failed: ${messageOf(error)}`;
    if (isHeard && isWithheld(error)) this.#logger.error(told, { error });
    else if (errorReply(error).status >= 500) this.#logger.warn(told, { error });
  }

  /** Accepts nothing new, waits for `settled`, then for the answers. The caller decides how long. */
  async drain(settled: () => Promise<void>): Promise<void> {
    this.#draining.abort();
    await settled();
    const all = (kind: "mount" | "route") =>
      Promise.allSettled([...this.#answering].flatMap(([answer, of]) => (of === kind ? [answer] : [])));
    await all("route");
    // Clients of MCP keep a stream open as long as they live; their calls ended with their runs.
    using limit = deadline(mountFlushMs);
    await Promise.race([all("mount"), once(limit.signal, "abort")]);
  }

  [Symbol.dispose](): void {
    this.#draining.abort();
    clearInterval(this.#sweeping);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAt = performance.now();
    const gone = goneSignal(response);
    let route = "unknown";
    const found = (path: string) => {
      route = path;
    };
    try {
      const [pathname = "", search = ""] = splitTarget(request.url ?? "");
      this.#checkNames(request);
      if (this.draining.aborted) throw new HttpError("draining", "the service is shutting down", { headers: closing });
      await this.#dispatch({ request, response, pathname, search, gone, found });
    } catch (error) {
      await this.#fail(error, request, response);
    } finally {
      const status = response.headersSent ? response.statusCode : clientGone;
      const ms = performance.now() - startedAt;
      this.metrics.request(methodOf(request), route, status, ms);
      this.#logger.debug("a request was answered", { method: methodOf(request), route, status, ms: round(ms) });
    }
  }

  async #dispatch(incoming: Incoming): Promise<void> {
    const { mount, dispatch } = this.#options;
    if (mount === undefined || incoming.pathname !== mount.path) return dispatch(incoming);
    const { request, response, found } = incoming;
    found(mount.path);
    await this.asCaller(request, "run", ({ tenant }) => this.#handlerOf(tenant, mount).handle(request, response));
  }

  #handlerOf(tenant: Holder, mount: Mount): MountedHandler {
    const known = this.#mounted.get(tenant);
    if (known) return known;
    const handler = mount.open(tenant.lazySandbox, { maxBodyBytes: this.limits.jsonBytes });
    tenant.own(handler);
    this.#mounted.set(tenant, handler);
    return handler;
  }

  /** A token that was removed or has expired loses its runs, even while no requests arrive. */
  async #sweep(): Promise<void> {
    const { tokens, holders, now } = this.#options;
    try {
      holders.keepOnly(await tokens.all(), now());
    } catch (error) {
      this.#logger.warn("the tokens cannot be read", { error: messageOf(error) });
    }
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

  #busy(who: string, limit: number, status: number): HttpError {
    this.metrics.refused();
    return new HttpError("busy", `${who} has ${limit} requests open, which is the limit`, {
      status,
      hint: "try again",
    });
  }
}

/** A caller without a token must not learn where the tokens are, or what is wrong with their file: the log says it. */
export function withheld(cause: unknown): never {
  throw new CodecellError("internal", messageOf(cause), { cause });
}

/** A signal for the client's disconnecting, made when somebody asks: most answers are sent before it is of use. */
function goneSignal(response: ServerResponse): () => AbortSignal {
  let controller: AbortController | undefined;
  return () => {
    if (controller) return controller.signal;
    const made = new AbortController();
    controller = made;
    const close = () => {
      // A complete answer is no reason to stop anything, and an abort costs a stack trace.
      if (!response.writableFinished) made.abort();
    };
    if (response.destroyed) close();
    else response.once("close", close);
    return made.signal;
  };
}

/** the status in logs and metrics when the client did not wait for the answer */
const clientGone = 499;
const closing = { connection: "close" };
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);

function methodOf({ method = "" }: IncomingMessage): string {
  return methods.has(method) ? method : "other";
}

function splitTarget(target: string): [string, string] {
  const at = target.indexOf("?");
  return at === -1 ? [target, ""] : [target.slice(0, at), target.slice(at + 1)];
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
