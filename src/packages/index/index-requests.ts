import { lookup as systemLookup } from "node:dns";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import { DeadlinePassed, deadline } from "../../lib/waiting/deadline.ts";
import { packageError } from "../package-error.ts";
import type { PackageLimits } from "../package-limits.ts";
import { type AddressScope, addressScope, mayReach } from "./address-scope.ts";
import { type IndexAddress, isSafeScheme } from "./index-address.ts";

/** A successful answer, or none: the index does not have it. */
export interface IndexAnswer {
  readonly contentType: string;
  /** after redirects */
  readonly url: URL;
  /** of the server that answered */
  readonly scope: AddressScope;
  readonly totalBytes: number | undefined;
  /** ends with an error where a bound is passed; read it to its end, or call `close` */
  readonly body: AsyncIterable<Buffer>;
}

/** What one request may do. */
export interface IndexRequest {
  readonly index: IndexAddress;
  readonly url: URL;
  readonly accept: string;
  /**
   * `own`: only the index's origin. `named`: any https origin too, because a hash decides whether the answer is used;
   * `scope` is the index's own.
   */
  readonly origins: "own" | { readonly scope: AddressScope };
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

const mostRedirects = 5;
const mostTries = 3;
const interrupted = new Set(["ECONNRESET", "EPIPE"]);
const missing = new Set([404, 410]);
const redirects = new Set([301, 302, 303, 307, 308]);

/** GET requests to package indexes, with bounds on bytes, time, redirects and where they may lead. */
export class IndexRequests implements Disposable {
  readonly #certificates: string | undefined;
  /** connections by who may use them */
  readonly #agents = new Map<string, HttpsAgent | HttpAgent>();
  readonly #limits: PackageLimits;
  readonly #signal: AbortSignal | undefined;
  readonly #stop = new AbortController();
  readonly #forward = () => this.#stop.abort(this.#signal?.reason);

  constructor(options: { limits: PackageLimits; certificates?: string; signal?: AbortSignal | undefined }) {
    this.#certificates = options.certificates;
    this.#limits = options.limits;
    this.#signal = options.signal;
    if (this.#signal?.aborted) this.#forward();
    this.#signal?.addEventListener("abort", this.#forward, { once: true });
  }

  /** Undefined: the index says that there is no such thing. Every other failure is an error. */
  async get<T>(request: IndexRequest, read: (answer: IndexAnswer) => Promise<T>): Promise<T | undefined> {
    using limit = deadline(request.timeoutMs, this.#stop.signal);
    try {
      const answer = await this.#follow(request, limit.signal);
      return answer && (await read(answer));
    } catch (error) {
      throw this.#explained(error, request, limit.signal);
    }
  }

  /** Ends requests that are still under way. */
  [Symbol.dispose](): void {
    this.#signal?.removeEventListener("abort", this.#forward);
    this.#stop.abort(new Error("no longer needed"));
    for (const agent of this.#agents.values()) agent.destroy();
  }

  /**
   * Kept connections are shared only by requests with the same index, credentials and bounds. The attack: a public index names a
   * file on the host of a private one, and a connection that is open already leads there without a look at its address.
   */
  #agentFor(url: URL, { index, origins }: IndexRequest): HttpsAgent | HttpAgent {
    const isOwn = url.origin === index.url.origin;
    const bound = isOwn || origins === "own" ? "own" : origins.scope;
    const key = JSON.stringify([url.protocol, index.url.href, index.authorization ?? null, bound]);
    const agent = this.#agents.get(key) ?? this.#newAgent(url);
    this.#agents.set(key, agent);
    return agent;
  }

  #newAgent({ protocol }: URL): HttpsAgent | HttpAgent {
    const common = { keepAlive: true, maxSockets: 8 };
    if (protocol !== "https:") return new HttpAgent(common);
    const ca = this.#certificates;
    return new HttpsAgent({ ...common, minVersion: "TLSv1.2", ...(ca === undefined ? {} : { ca }) });
  }

  async #follow(request: IndexRequest, signal: AbortSignal): Promise<IndexAnswer | undefined> {
    let { url } = request;
    for (let hops = 0; hops <= mostRedirects; hops++) {
      checkOrigin(url, request);
      const response = await this.#sendAgain(url, request, signal);
      const status = response.statusCode ?? 0;
      if (status === 200) return answerOf(response, url, request, signal);
      response.destroy();
      if (missing.has(status)) return undefined;
      const { location } = response.headers;
      if (!redirects.has(status) || location === undefined) throw refusedStatus(status, url, request.index);
      if (!URL.canParse(location, url.href)) throw packageError("index", `${shownUrl(url)} redirects to no address`);
      url = new URL(location, url);
    }
    throw packageError("index", `${shownUrl(request.url)} redirects more than ${mostRedirects} times`);
  }

  /** A server may close a connection while a request is on its way, above all one that was kept open. */
  async #sendAgain(url: URL, request: IndexRequest, signal: AbortSignal): Promise<IncomingMessage> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#send(url, request, signal);
      } catch (error) {
        const { code = "" } = error as NodeJS.ErrnoException;
        if (signal.aborted || tries === mostTries || !interrupted.has(code)) throw error;
      }
    }
  }

  #send(url: URL, request: IndexRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { index, accept, origins } = request;
    const isOwn = url.origin === index.url.origin;
    const isTls = url.protocol === "https:";
    return new Promise((resolve, reject) => {
      const sent = (isTls ? httpsRequest : httpRequest)(
        url,
        {
          agent: this.#agentFor(url, request),
          signal,
          timeout: this.#limits.idleMs,
          maxHeaderSize: 32_768,
          // Nothing to decompress: a bound on bytes is then a bound on memory.
          headers: {
            ...{ accept, "accept-encoding": "identity", "user-agent": "codecell" },
            // Credentials go to the origin they were given for, and nowhere else.
            ...(isOwn && index.authorization !== undefined ? { authorization: index.authorization } : {}),
          },
          ...(isOwn || origins === "own" ? {} : { lookup: guardedLookup(origins.scope) }),
        },
        (response) => {
          sent.on("timeout", () => response.destroy(silence(this.#limits.idleMs)));
          resolve(response);
        },
      );
      sent.on("timeout", () => sent.destroy(silence(this.#limits.idleMs)));
      sent.on("error", reject);
      sent.end();
    });
  }

  #explained(error: unknown, { url, index, timeoutMs }: IndexRequest, signal: AbortSignal): CodecellError {
    if (error instanceof CodecellError) return error;
    if (this.#signal?.aborted) {
      const reason: unknown = this.#signal.reason;
      return new CodecellError("aborted", `packages were not prepared: ${messageOf(reason)}`, { cause: reason });
    }
    const isLate = signal.reason instanceof DeadlinePassed;
    const why = isLate ? `no complete answer within ${timeoutMs / 1000} s` : messageOf(error);
    return packageError("index", `the package index ${index.shown} cannot be used: ${shownUrl(url)}: ${why}`, {
      hint: "check the address and the network; with --offline, packages that were used before are taken from the cache",
      cause: error,
    });
  }
}

function answerOf(response: IncomingMessage, url: URL, request: IndexRequest, signal: AbortSignal): IndexAnswer {
  const encoding = response.headers["content-encoding"] ?? "identity";
  const length = Number(response.headers["content-length"] ?? Number.NaN);
  if (encoding !== "identity" || length > request.maxBytes) response.destroy();
  if (encoding !== "identity") throw packageError("index", `${shownUrl(url)} is compressed, which was not asked for`);
  if (length > request.maxBytes) throw tooLarge(url, request.maxBytes);
  return {
    contentType: response.headers["content-type"] ?? "",
    url,
    scope: addressScope(response.socket.remoteAddress ?? ""),
    totalBytes: Number.isFinite(length) ? length : undefined,
    body: boundedBody(response, url, request.maxBytes, signal),
  };
}

async function* boundedBody(response: IncomingMessage, url: URL, maxBytes: number, signal: AbortSignal) {
  let bytes = 0;
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      bytes += piece.byteLength;
      if (bytes > maxBytes) throw tooLarge(url, maxBytes);
      if (signal.aborted) throw signal.reason;
      yield piece;
    }
    if (!response.complete) throw packageError("index", `${shownUrl(url)} ended in the middle`, { hint: "try again" });
  } finally {
    response.destroy();
  }
}

function checkOrigin(url: URL, { index, origins }: IndexRequest): void {
  if (url.origin === index.url.origin) return;
  const elsewhere = `${index.shown} refers to ${shownUrl(url)}`;
  if (origins === "own") throw packageError("index", `${elsewhere}: an index must answer from its own origin`);
  if (url.protocol !== "https:" || !isSafeScheme(url))
    throw packageError("index", `${elsewhere}: files on another origin need https`);
  if (url.username !== "" || url.password !== "") throw packageError("index", `${elsewhere} with credentials`);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !mayReach(addressScope(host), origins.scope)) throw unreachable(host);
}

/** Checks what a name resolves to, right where the connection takes it: a second look could get another answer. */
function guardedLookup(scope: AddressScope): LookupFunction {
  return (hostname, options, callback) => {
    systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, "", 4);
      const allowed = addresses.filter(({ address }) => mayReach(addressScope(address), scope));
      const [first] = allowed;
      if (!first) return callback(unreachable(hostname), "", 4);
      if (options.all) return callback(null, allowed);
      callback(null, first.address, first.family);
    });
  };
}

function unreachable(host: string): CodecellError {
  return packageError("index", `an index refers to ${quotedName(host)}, an address that is closer than its own`, {
    hint: "serve the files from the index's own origin",
  });
}

function refusedStatus(status: number, url: URL, index: IndexAddress): CodecellError {
  const isLogin = status === 401 || status === 403;
  return packageError("index", `the package index ${index.shown} answers ${status} for ${shownUrl(url)}`, {
    // A later index is not asked instead: whoever can make a private index fail could then supply its packages.
    hint: isLogin
      ? "put a user and a token into the index's address, as in https://user:token@packages.example/simple"
      : "try again later, or name another index in kernel.packages.index",
  });
}

function tooLarge(url: URL, maxBytes: number): CodecellError {
  return packageError("limit", `${shownUrl(url)} is larger than ${maxBytes} bytes`);
}

function silence(idleMs: number): Error {
  return new Error(`nothing received for ${idleMs / 1000} s`);
}

/** Queries of file addresses are often signatures, which open the file to whoever reads them. */
function shownUrl(url: URL): string {
  return quotedName(`${url.origin}${url.pathname}`, 300);
}
