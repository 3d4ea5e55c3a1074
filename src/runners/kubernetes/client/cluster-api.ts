import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { deadline } from "../../../lib/waiting/deadline.ts";
import { ApiRefusal, type ApiVerb, explained, refusalOf } from "./api-refusal.ts";
import type { ClusterConnection } from "./cluster-connection.ts";

const answerMs = 15_000;
const largestAnswerBytes = 64 * 1024 * 1024;
const mostTries = 4;
const longestRetryMs = 5_000;

export interface ApiRequest extends ApiVerb {
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: unknown;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

const methods = { create: "POST", get: "GET", list: "GET", watch: "GET", update: "PUT", delete: "DELETE" } as const;

/** Requests to the API server, each with a time limit. Refusals are `ApiRefusal`s; `explain` makes errors of them. */
export class ClusterApi implements Disposable {
  readonly connection: ClusterConnection;

  constructor(connection: ClusterConnection) {
    this.connection = connection;
  }

  get namespace(): string {
    return this.connection.namespace;
  }

  /** The path of a namespaced resource, such as `pods` or `leases`. */
  path(resource: keyof typeof groups, name?: string): string {
    const base = `${groups[resource]}/namespaces/${this.namespace}/${resource}`;
    return name === undefined ? base : `${base}/${name}`;
  }

  /** Asks for JSON. Waits and tries again if the server has too many requests, within the time limit. */
  async json<Answer>(request: ApiRequest): Promise<Answer> {
    return (await this.dated<Answer>(request)).answer;
  }

  /** The same, with the time of the answer by the server's clock; NaN if it does not say. */
  async dated<Answer>(request: ApiRequest): Promise<{ readonly answer: Answer; readonly serverMs: number }> {
    using limit = deadline(request.timeoutMs ?? answerMs, request.signal);
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await this.#send(request, limit.signal);
        const serverMs = Date.parse(response.headers.date ?? "");
        return { answer: JSON.parse(await text(response)) as Answer, serverMs };
      } catch (error) {
        if (limit.signal.aborted) throw limit.signal.reason;
        if (!isPassing(error, request) || attempt === mostTries) throw error;
        const asked = error instanceof ApiRefusal ? error.retryAfterMs : undefined;
        await pause(Math.min(asked ?? 100 * 2 ** attempt, longestRetryMs), undefined, { signal: limit.signal });
      }
    }
  }

  /** A watch: one JSON object per line until the server ends it. `idleMs` without a line ends it here. */
  async *lines(request: ApiRequest, idleMs: number): AsyncGenerator<unknown> {
    const response = await this.#answer(request);
    response.socket.setKeepAlive(true, 15_000);
    const stop = () => response.destroy();
    request.signal?.addEventListener("abort", stop, { once: true });
    const timer = setTimeout(stop, idleMs);
    let rest = "";
    try {
      response.setEncoding("utf8");
      for await (const piece of response) {
        timer.refresh();
        const lines = (rest + piece).split("\n");
        rest = lines.pop() ?? "";
        if (rest.length > largestAnswerBytes) throw new Error("the API server sent an event without an end");
        for (const line of lines) if (line.trim() !== "") yield JSON.parse(line);
      }
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener("abort", stop);
      response.destroy();
    }
  }

  /** The time limit is for the beginning of the answer. */
  async #answer(request: ApiRequest): Promise<IncomingMessage> {
    using limit = deadline(request.timeoutMs ?? answerMs, request.signal);
    return await this.#send(request, limit.signal);
  }

  explain(error: unknown, request: ApiVerb) {
    return explained(error, { namespace: this.namespace, ...request }, this.connection.server.host);
  }

  async #send(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { server } = this.connection;
    const url = new URL(server.pathname.replace(/\/$/, "") + request.path, server);
    for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, String(value));
    const options = await this.connection.options();
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const headers = {
      ...options.headers,
      accept: "application/json",
      "user-agent": "codecell",
      ...(body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
    };
    const all = { ...options, method: methods[request.verb], headers, signal };
    const response = await exchange(url, all, body).catch((error: unknown) => {
      if (error !== staleConnection) throw error;
      return exchange(url, { ...all, agent: false }, body);
    });
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode < 300) return response;
    throw refusalOf(statusCode, await text(response), response.headers["retry-after"]);
  }

  [Symbol.dispose](): void {
    this.connection[Symbol.dispose]();
  }
}

/** The server closed a connection of the agent while a request was on its way: it did not read the request. */
const staleConnection = new Error("the connection was closed while it was idle");

function exchange(url: URL, options: https.RequestOptions, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { request: open } = url.protocol === "http:" ? http : https;
    const sent = open(url, options, resolve);
    sent.on("error", (error: NodeJS.ErrnoException) => {
      const isStale = sent.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE");
      reject(isStale ? staleConnection : error);
    });
    sent.end(body);
  });
}

const groups = {
  pods: "/api/v1",
  configmaps: "/api/v1",
  leases: "/apis/coordination.k8s.io/v1",
  networkpolicies: "/apis/networking.k8s.io/v1",
  sandboxtemplates: "/apis/extensions.agents.x-k8s.io/v1beta1",
  sandboxwarmpools: "/apis/extensions.agents.x-k8s.io/v1beta1",
  sandboxclaims: "/apis/extensions.agents.x-k8s.io/v1beta1",
} as const;

/** Reads may be asked again after any failure of the server; a write only if the server says that it did nothing. */
function isPassing(error: unknown, { verb }: ApiRequest): boolean {
  const isRead = verb === "get" || verb === "list";
  if (error instanceof ApiRefusal) return error.status === 429 || (isRead && error.status >= 500);
  return isRead && !(error instanceof SyntaxError);
}

async function text(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let all = "";
  for await (const piece of response) {
    all += piece;
    if (all.length > largestAnswerBytes) throw new Error("the API server sent too much");
  }
  return all;
}
