import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import { deadline } from "../../lib/waiting/deadline.ts";
import { sharedAbort } from "../../lib/waiting/shared-abort.ts";
import { BodyMemory, type MemoryLease } from "../../service/body-memory.ts";
import { isWithheld } from "../../service/guest-error.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import type { OpenRequests } from "../../service/tenants/open-requests.ts";
import { allows, type Scope } from "../../service/tenants/scope.ts";
import type { TokenRecord } from "../../service/tenants/token-record.ts";
import type { TokenStorage } from "../../service/tenants/token-storage.ts";
import { errorReply, HttpError } from "./answers/error-status.ts";
import { sendRefusal } from "./answers/send-json.ts";
import { nameCheck } from "./known-names.ts";
import { defaultLimits, type HttpLimits } from "./limits.ts";
import { Metrics } from "./metrics.ts";

/** What the gate needs to know about the holder of a token. A `Tenant` is one. */
export interface TokenHolder {
  readonly requests: OpenRequests;
  readonly lazySandbox: LazySandbox;
  /** A limit refused a request of it. */
  refused?(): void;
  /** Disposes `resource` before the sandbox. */
  own(resource: AsyncDisposable): void;
}

/** Finds the holder of a token. */
export interface TokenHolders<Holder> {
  of(token: TokenRecord): Holder;
  /** Stops everything of tokens that were removed or have expired. */
  keepOnly(tokens: readonly TokenRecord[], nowMs: number): void;
}

/** The caller of a request. */
export interface Caller<Holder> {
  readonly token: TokenRecord;
  readonly tenant: Holder;
}

/** A caller whose request was accepted. */
export interface AdmittedCaller<Holder> extends Caller<Holder> {
  /** memory for the body of the request, until its response is sent */
  readonly bodies: MemoryLease;
  /** memory for a large response, until the client has it */
  readonly memory: MemoryLease;
}

/** Another protocol on one path, such as MCP. It gets only requests that passed the gate. */
export interface Mount {
  readonly path: string;
  /** Opens the handler of one token, at its first request. */
  open(
    sandbox: LazySandbox,
    options: {
      readonly maxBodyBytes: number;
      readonly bodyWaitMs: number;
      readonly bodyMemory: BodyMemory;
      /** end of the ids of connections; absent: the service is alone */
      readonly idTag?: string;
    },
  ): MountedHandler;
}

/** Handles the requests of one token on a mounted path. */
export interface MountedHandler extends AsyncDisposable {
  /** `peers` is absent if the service is alone. */
  handle(request: IncomingMessage, response: ServerResponse, peers?: MountPeers): Promise<void>;
}

/** The other gateways, for one request on a mounted path: only its body says which session it is about. */
export interface MountPeers {
  /** whether a peer passed the request on */
  readonly isForwarded: boolean;
  /** Passes the request on to a gateway. False: it is this one, or it is gone. */
  toGateway(id: string, body?: Uint8Array): Promise<boolean>;
  /** Passes the request on to the gateway that has a session; undefined: the default one. False: this one answers. */
  toSession(id: string | undefined, body: Uint8Array): Promise<boolean>;
  /** Answers as long as this gateway holds its lease. */
  whileHeld(answer: () => Promise<void>): Promise<void>;
}

/** A request that has not been handled yet. */
export interface Incoming {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly pathname: string;
  readonly search: string;
  /** aborted when the client disconnects */
  readonly gone: () => AbortSignal;
  /** Sets the route for the log and the metrics. Paths from clients are never labels, because there is no limit to them. */
  readonly found: (route: string) => void;
}

export interface GateOptions<Holder extends TokenHolder> {
  readonly tokens: TokenStorage;
  readonly holders: TokenHolders<Holder>;
  /** Handles every path except the mount's. Exceptions are sent as errors. */
  readonly dispatch: (incoming: Incoming) => Promise<void>;
  readonly mount?: Mount | undefined;
  readonly limits?: Partial<HttpLimits> | undefined;
  /** host names that clients may use, in addition to localhost */
  readonly hostNames?: readonly string[] | undefined;
  /** Whether another gateway passed this request on, and has checked its names. Throws if the request only says so. */
  readonly isFromPeer?: ((request: IncomingMessage) => boolean) | undefined;
  /** the other gateways, for the mount; absent: the service is alone */
  readonly peers?: { readonly idTag: string; of(holder: Holder, incoming: Incoming): MountPeers } | undefined;
  readonly logger?: Logger | undefined;
  readonly now: () => number;
}

/** How many bodies of the largest size may be in memory at the same time. */
const largeBodiesPerToken = 4;
const largeBodies = 16;
/** Large responses whose clients have not read them yet. */
const responseBytesPerToken = 64 * 1024 * 1024;
const responseBytes = 4 * responseBytesPerToken;
const mountFlushMs = 1_000;
const sweepEveryMs = 2_000;

/** Every request passes the gate. It checks host name, origin, token, scope and limits, and handles errors, metrics and log. */
export class Gate<Holder extends TokenHolder> implements Disposable {
  readonly limits: HttpLimits;
  readonly metrics = new Metrics();
  readonly #options: GateOptions<Holder>;
  readonly #logger: Logger;
  readonly #checkNames: (request: IncomingMessage) => void;
  readonly #mounted = new WeakMap<Holder, MountedHandler>();
  readonly #allBodies: BodyMemory;
  readonly #bodies = new WeakMap<Holder, BodyMemory>();
  readonly #allResponses = new BodyMemory(responseBytes);
  readonly #responses = new WeakMap<object, BodyMemory>();
  readonly #answering = new Map<Promise<void>, "mount" | "route">();
  readonly #draining = sharedAbort();
  readonly #sweeping: NodeJS.Timeout;
  #admissions = 0;

  constructor(options: GateOptions<Holder>) {
    this.#options = options;
    this.limits = { ...defaultLimits, ...options.limits };
    this.#allBodies = new BodyMemory(largeBodies * this.limits.jsonBytes);
    this.#logger = options.logger ?? silentLogger;
    this.#checkNames = nameCheck(options.hostNames ?? []);
    this.#sweeping = setInterval(() => void this.#sweep(), sweepEveryMs).unref();
  }

  /** Aborted when the service stops accepting requests, to end endless streams. */
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  /** Number of requests in progress. */
  get answering(): number {
    return this.#answering.size;
  }

  /** Memory of large bodies, in bytes. */
  get bodyBytes(): number {
    return this.#allBodies.usedBytes + this.#allResponses.usedBytes;
  }

  /** Handles one request. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    const { mount } = this.#options;
    const kind = mount && request.url?.startsWith(mount.path) ? "mount" : "route";
    const answering = this.#answer(request, response).finally(() => this.#answering.delete(answering));
    this.#answering.set(answering, kind);
  }

  /** Runs `work` if the token of the request has the scope and the limits allow it. */
  async asCaller(
    request: IncomingMessage,
    scope: Scope,
    work: (caller: AdmittedCaller<Holder>) => Promise<void>,
  ): Promise<void> {
    const caller = await this.caller(request);
    const { token, tenant } = caller;
    if (!allows(token.scopes, scope)) {
      throw new HttpError("forbidden", `this token does not have the scope ${scope}`, {
        hint: "ask the owner of the service for a token with this scope",
      });
    }
    if (tenant.requests.size >= this.limits.requestsPerToken) {
      tenant.refused?.();
      throw this.#busy("this token", this.limits.requestsPerToken, 429);
    }
    using _open = tenant.requests.enter(token.sha256, () => request.socket.destroy());
    using bodies = this.#bodiesOf(tenant).lease();
    using memory = this.responsesOf(tenant).lease();
    await this.admitted(() => work({ ...caller, bodies, memory }));
  }

  /**
   * Counts a request towards the limit of the service. Requests without a token do not count: otherwise strangers could
   * keep everybody out with unfinished requests. The limit on connections applies to them.
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

  /** The caller of a request. Throws `unauthorized` without a valid token. */
  async caller(request: IncomingMessage): Promise<Caller<Holder>> {
    const { tokens, holders, now } = this.#options;
    const token = await tokens.find(request.headers.authorization, now()).catch(withheld);
    holders.keepOnly(tokens.current, now());
    if (token) return { token, tenant: holders.of(token) };
    throw new HttpError("unauthorized", "a valid token is required", {
      hint: "send it as `Authorization: Bearer TOKEN`",
      headers: { "www-authenticate": "Bearer" },
    });
  }

  /**
   * Logs why a request failed. If the reason is hidden from the caller, it is logged as an error, with the reason in the
   * message, because stderr shows only the messages of errors. A disconnected client is not logged as an error.
   */
  logFailure(error: unknown, { isConnected }: { isConnected: boolean }): void {
    if (error instanceof HttpError) return;
    const message = `a request failed: ${messageOf(error)}`;
    if (isConnected && isWithheld(error)) this.#logger.error(message, { error });
    else if (errorReply(error).status >= 500) this.#logger.warn(message, { error });
  }

  /** Accepts no new requests, waits for `settled`, then for open requests. The caller sets the time limit. */
  async drain(settled: () => Promise<void>): Promise<void> {
    this.#draining.abort();
    await settled();
    const all = (kind: "mount" | "route") =>
      Promise.allSettled([...this.#answering].flatMap(([answer, of]) => (of === kind ? [answer] : [])));
    await all("route");
    // MCP clients keep a stream open all the time, so wait only briefly. Their calls ended with their runs.
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
      if (!this.#options.isFromPeer?.(request)) this.#checkNames(request);
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
    const { mount, dispatch, peers } = this.#options;
    if (mount === undefined || incoming.pathname !== mount.path) return dispatch(incoming);
    const { request, response, found } = incoming;
    found(mount.path);
    await this.asCaller(request, "run", async ({ tenant }) => {
      const handler = this.#handlerOf(tenant, mount);
      const others = peers?.of(tenant, incoming);
      await (others
        ? others.whileHeld(() => handler.handle(request, response, others))
        : handler.handle(request, response));
    });
  }

  #bodiesOf(tenant: Holder): BodyMemory {
    const known = this.#bodies.get(tenant);
    if (known) return known;
    const bodies = new BodyMemory(largeBodiesPerToken * this.limits.jsonBytes, this.#allBodies);
    this.#bodies.set(tenant, bodies);
    return bodies;
  }

  /** Memory of large responses, of which each token has a part, and so do the links of each. */
  responsesOf(readers: object): BodyMemory {
    const known = this.#responses.get(readers);
    if (known) return known;
    const responses = new BodyMemory(responseBytesPerToken, this.#allResponses);
    this.#responses.set(readers, responses);
    return responses;
  }

  #handlerOf(tenant: Holder, mount: Mount): MountedHandler {
    const known = this.#mounted.get(tenant);
    if (known) return known;
    const handler = mount.open(tenant.lazySandbox, {
      maxBodyBytes: this.limits.jsonBytes,
      bodyWaitMs: this.limits.bodyWaitMs,
      bodyMemory: this.#bodiesOf(tenant),
      ...(this.#options.peers ? { idTag: this.#options.peers.idTag } : {}),
    });
    tenant.own(handler);
    this.#mounted.set(tenant, handler);
    return handler;
  }

  /** Stops the runs of tokens that were removed or have expired, even while no requests arrive. */
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
    this.logFailure(error, { isConnected: !response.destroyed });
    if (response.headersSent || response.destroyed) {
      response.destroy(); // an incomplete response must not look complete
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

/** Hides problems of the token file, which the log has: a caller without a token must not learn its path. */
export function withheld(cause: unknown): never {
  throw new CodecellError("internal", messageOf(cause), { cause });
}

/** A signal for a client that disconnects. Created on first use, because most requests never need it. */
function goneSignal(response: ServerResponse): () => AbortSignal {
  let controller: AbortController | undefined;
  return () => {
    if (controller) return controller.signal;
    const made = new AbortController();
    controller = made;
    const close = () => {
      // Do not abort after a complete response: it is not needed, and creating the error takes time.
      if (!response.writableFinished) made.abort();
    };
    if (response.destroyed) close();
    else response.once("close", close);
    return made.signal;
  };
}

/** the status in logs and metrics if the client disconnected before the response */
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
