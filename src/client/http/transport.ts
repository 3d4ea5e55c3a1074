import { CodecellError, messageOf } from "../../lib/errors.ts";
import { assertExactIntegers } from "../../lib/json/inexact-integer.ts";
import { parseJson } from "../../lib/json/parse-json.ts";
import { delayBefore, pause } from "./backoff.ts";
import { type BodySource, prepareBody } from "./body-source.ts";
import { readBounded } from "./bounded-body.ts";
import { type ClientTimes, defaultTimes } from "./client-times.ts";
import { failureIn, serviceError } from "./service-error.ts";
import { JoinedSignal } from "./signals.ts";

/** One request. */
export interface Request {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** encoded, with a slash at its beginning */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly json?: unknown;
  readonly bytes?: BodySource;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** whether it may be sent again after a lost reply; default: GET only */
  readonly isRepeatable?: boolean;
  /** errors that mean success after a lost reply, such as `session_unknown` when a session is closed again */
  readonly isDoneIf?: CodecellError["code"];
  /** whether an integer in the response that JavaScript would round is an error */
  readonly isExact?: boolean;
  /** how long the beginning of the response may take */
  readonly headersMs?: number;
}

/** A response whose body the caller reads. Its signals count until it is disposed. */
export interface OpenResponse extends Disposable {
  readonly response: Response;
}

export interface TransportOptions {
  readonly address: string;
  readonly token: string | undefined;
  readonly fetch: typeof fetch;
  readonly retries: number;
  readonly maxResponseBytes: number;
  readonly times?: ClientTimes | undefined;
}

const errorBytes = 256 * 1024;
const jsonLimits = { depth: 1_000, keys: 5_000_000, values: 50_000_000, containers: 10_000_000 };

/** Requests to one service. The token goes to its address only, and redirects are not followed. */
export class Transport {
  readonly address: string;
  readonly maxResponseBytes: number;
  readonly times: ClientTimes;
  readonly #token: string | undefined;
  readonly fetch: typeof fetch;
  readonly #retries: number;
  readonly #closing = new AbortController();

  constructor(options: TransportOptions) {
    this.address = options.address;
    this.maxResponseBytes = options.maxResponseBytes;
    this.times = options.times ?? defaultTimes;
    this.#token = options.token;
    this.fetch = options.fetch;
    this.#retries = options.retries;
  }

  /** Aborted when the client is closed. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  get retries(): number {
    return this.#retries;
  }

  close(): void {
    this.#closing.abort(new CodecellError("aborted", "the client was closed; what runs on the service keeps running"));
  }

  /** The JSON of a response. */
  async json(request: Request): Promise<unknown> {
    return this.#complete(request, ({ response }) => this.#jsonOf(response, request));
  }

  /** The bytes of a response. */
  async bytes(request: Request, maxBytes = this.maxResponseBytes): Promise<Uint8Array> {
    return this.#complete(request, ({ response }) => readBounded(response, maxBytes, "the response"));
  }

  async text(request: Request): Promise<string> {
    return new TextDecoder().decode(await this.bytes(request));
  }

  /** Waits for a response without a body. */
  async done(request: Request): Promise<void> {
    await this.#complete(request, async ({ response }) => {
      await response.body?.cancel().catch(() => {});
    });
  }

  /** A response whose body the caller reads, and then disposes. */
  open(request: Request): Promise<OpenResponse> {
    return this.#complete(request, async (opened) => opened, { staysOpen: true });
  }

  /** Sends a request, again if that is safe, until `finish` has what it needs of the response. */
  async #complete<T>(
    request: Request,
    finish: (opened: OpenResponse) => Promise<T>,
    { staysOpen = false } = {},
  ): Promise<T> {
    const isRepeatable = request.isRepeatable ?? request.method === "GET";
    const prepared = request.bytes === undefined ? undefined : await prepareBody(request.bytes, "the content");
    const isWhole = prepared?.isWhole ?? true;
    try {
      for (let attempt = 0; ; attempt++) {
        try {
          const opened = await this.#attempt(request, prepared?.body);
          try {
            return await finish(opened);
          } finally {
            if (!staysOpen) opened[Symbol.dispose]();
          }
        } catch (error) {
          const failure = this.#readable(error, request);
          if (attempt > 0 && request.isDoneIf !== undefined && failure.code === request.isDoneIf) {
            return undefined as T; // only `done` passes `isDoneIf`
          }
          const isRefused = failure.details.code === "busy"; // the service did nothing
          const mayRetry = isWhole && (isRefused || (isRepeatable && isTransient(failure)));
          if (!mayRetry || attempt >= this.#retries) throw failure;
          using waiting = new JoinedSignal(request.signal, this.closed);
          await pause(delayBefore(attempt, Number(failure.details.retryAfterMs ?? 0)), waiting.signal).catch(
            (cause) => {
              throw this.#readable(cause, request);
            },
          );
        }
      }
    } finally {
      prepared?.release();
    }
  }

  async #attempt(request: Request, body: RequestInit["body"]): Promise<OpenResponse> {
    const joined = new JoinedSignal(request.signal, this.closed);
    const { headersMs } = request;
    const late = new CodecellError("service_unavailable", `the service did not answer within ${headersMs} ms`);
    const timer = headersMs === undefined ? undefined : setTimeout(() => joined.abort(late), headersMs);
    const opened = { [Symbol.dispose]: () => joined[Symbol.dispose]() };
    let isKept = false;
    try {
      joined.signal.throwIfAborted();
      const response = await this.fetch(this.#urlOf(request), {
        ...{ method: request.method, redirect: "manual", signal: joined.signal },
        headers: this.#headersOf(request),
        ...(request.json === undefined ? {} : { body: JSON.stringify(request.json) }),
        ...(body === undefined ? {} : { body, duplex: "half" }),
      } as RequestInit);
      isKept = response.ok;
      if (isKept) return { ...opened, response };
      throw await this.#failureOf(response, request);
    } finally {
      clearTimeout(timer);
      if (!isKept) joined[Symbol.dispose]();
    }
  }

  #urlOf({ path, query = {} }: Request): string {
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : `${name}=${encodeURIComponent(String(value))}`,
    );
    return `${this.address}${path}${given.length === 0 ? "" : `?${given.join("&")}`}`;
  }

  #headersOf({ json, bytes, headers }: Request): Record<string, string> {
    return {
      ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      ...(json === undefined ? {} : { "content-type": "application/json" }),
      ...(bytes === undefined ? {} : { "content-type": "application/octet-stream" }),
      ...headers,
    };
  }

  async #jsonOf(response: Response, { method, path, isExact }: Request): Promise<unknown> {
    const bytes = await readBounded(response, this.maxResponseBytes, "the response");
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      const value = parseJson(text, jsonLimits);
      if (isExact) assertExactIntegers(text);
      return value;
    } catch (cause) {
      if (cause instanceof CodecellError) throw cause;
      throw new CodecellError("service_unavailable", `the response to ${method} ${path} is not JSON`, {
        hint: `is ${this.address} the address of \`codecell serve\`?`,
        cause,
      });
    }
  }

  /** The error of a response that is not a success. */
  async #failureOf(response: Response, { method, path }: Request): Promise<CodecellError> {
    const { status } = response;
    if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
      await response.body?.cancel().catch(() => {});
      return new CodecellError("service_unavailable", `${this.address} redirects to another address`, {
        hint: "pass the final address to connect(): the token is not sent to another one",
        details: { status },
      });
    }
    const body = await readBounded(response, errorBytes, "the error").catch(() => new Uint8Array(0));
    let failure: ReturnType<typeof failureIn>;
    try {
      failure = failureIn(parseJson(new TextDecoder().decode(body)));
    } catch {}
    const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
    const wait = retryAfter >= 0 && retryAfter < 3600 ? { retryAfterMs: retryAfter * 1000 } : {};
    const error = failure
      ? serviceError({ ...failure, message: this.#withoutToken(failure.message) }, status)
      : new CodecellError("service_unavailable", `${method} ${path} was answered with status ${status}`, {
          hint: `is ${this.address} the address of \`codecell serve\`, and is its proxy set up for it?`,
          details: { status },
        });
    const { code, message, hint, details } = error;
    const more = hint === undefined ? {} : { hint: this.#withoutToken(hint) };
    return new CodecellError(code, message, { ...more, details: { ...details, ...wait } });
  }

  /** Any failure as one of codecell. */
  #readable(error: unknown, { signal, method, path }: Request): CodecellError {
    if (this.closed.aborted) return this.closed.reason as CodecellError;
    if (signal?.aborted)
      return new CodecellError("aborted", `${method} ${path} was cancelled by its caller`, { cause: signal.reason });
    if (error instanceof CodecellError) return error;
    // fetch hides why it failed in `cause`
    const reason = error instanceof Error && error.cause !== undefined ? error.cause : error;
    const said = messageOf(reason) || messageOf(error);
    return new CodecellError("service_unavailable", this.#withoutToken(`${this.address} cannot be reached: ${said}`), {
      hint: "check the address, that `codecell serve` is running there, and the network between",
      cause: error,
      details: { isNetwork: true },
    });
  }

  #withoutToken(text: string): string {
    return this.#token === undefined || this.#token === "" ? text : text.replaceAll(this.#token, "[token]");
  }
}

/** Whether a failure may be gone with the next attempt. */
export function isTransient({ code, details }: CodecellError): boolean {
  if (code !== "service_unavailable") return false;
  const { status } = details;
  return status === undefined || status === 429 || status === 502 || status === 503 || status === 504;
}
