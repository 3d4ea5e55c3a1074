import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Access, type ApiUser, accessDenied, accessOf, isAllowed } from "./access-rules.ts";
import {
  ApiError,
  badRequest,
  type NamedResource,
  NoSuchPage,
  noSuchPath,
  TooManyRequests,
  UnknownProtocol,
  unauthorized,
} from "./api-error.ts";
import { isRecord } from "./api-object.ts";
import { discovery } from "./discovery.ts";
import type { ObjectStore } from "./object-store.ts";
import { parseTarget, type RequestTarget } from "./request-target.ts";
import { accessReviews, type Resource } from "./resource-table.ts";
import type { ServerVersion } from "./server-version.ts";
import { answer, type Webhook } from "./verbs.ts";
import { checkWatch, openWatch, type WatchStream } from "./watch-stream.ts";

/** How many bytes of a request are read: etcd's limit, and a little. */
const maxBodyBytes = 3 * 1024 * 1024;

export interface ApiServerParts {
  readonly store: ObjectStore;
  readonly tls: { readonly key: Buffer; readonly cert: Buffer };
  /** by token */
  readonly users: ReadonlyMap<string, ApiUser>;
  readonly version: ServerVersion;
  /** Answers `pods/log`. */
  readonly log: (target: RequestTarget, response: ServerResponse) => void;
  /** Answers a websocket of `pods/attach`, `pods/exec` or `pods/portforward`. */
  readonly upgrade: (target: RequestTarget, request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Why a request that is no websocket is refused. */
  readonly notUpgraded: (target: RequestTarget) => ApiError;
  readonly served: readonly Resource[];
}

/** What happens to a request before it is answered, for tests of failures. Throws instead of answering. */
export type Fault = (target: RequestTarget) => void;

/** The HTTP side: TLS, tokens, access rules, and one answer per verb. Emits `used` with every access that it granted. */
export class ApiServer extends EventEmitter<{ used: [Access] }> {
  readonly watches = new Set<WatchStream>();
  readonly faults = new Set<Fault>();
  /** asked in turn about every new object */
  readonly webhooks = new Set<Webhook>();
  readonly #parts: ApiServerParts;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;

  constructor(parts: ApiServerParts) {
    super();
    this.#parts = parts;
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  /** Listens, on the same port as before. */
  async listen(): Promise<void> {
    const server = createServer(this.#parts.tls, (request, response) => void this.#answer(request, response));
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(this.#port, "127.0.0.1", resolve);
    });
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Breaks every connection and listens no more, as if the process was killed. Objects and containers stay. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const user = this.#userOf(request);
      const path = (request.url ?? "/").split("?")[0] ?? "/";
      if (["/healthz", "/livez", "/readyz"].includes(path)) return void response.end("ok");
      const found = discovery(path, this.#parts.version.text, this.#parts.served);
      if (found !== undefined) return send(response, 200, found);
      const target = parseTarget(request, this.#parts.served);
      const body = await readBody(request, target.resource);
      if (target.resource === accessReviews) return send(response, 201, this.#review(user, body));
      this.#admit(user, target);
      if (target.subresource === "log") return this.#parts.log(target, response);
      if (target.subresource !== undefined && target.subresource !== "status") throw this.#parts.notUpgraded(target);
      if (target.verb === "watch") {
        checkWatch(target);
        this.watches.add(openWatch(this.#parts.store, target, response, (one) => this.watches.delete(one)));
        return;
      }
      const { code, body: answered } = answer(this.#parts.store, target, body, this.webhooks);
      send(response, code, answered);
    } catch (error) {
      refuse(response, error);
    }
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    try {
      const user = this.#userOf(request);
      const target = parseTarget(request, this.#parts.served);
      if (target.subresource === undefined) throw noSuchPath();
      this.#admit(user, target);
      if (this.#parts.version.streamsNeedCreate) this.#admit(user, { ...target, verb: "create" });
      this.#parts.upgrade(target, request, socket, head);
    } catch (error) {
      refuseUpgrade(socket, error);
    }
  }

  #userOf({ headers }: IncomingMessage): ApiUser {
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
    const user = this.#parts.users.get(token ?? "");
    if (user === undefined) throw unauthorized();
    return user;
  }

  #admit(user: ApiUser, target: RequestTarget): void {
    for (const fault of this.faults) fault(target);
    const access = accessOf(target);
    if (!isAllowed(user, access)) throw accessDenied(user, access, target.resource);
    this.emit("used", access);
  }

  #review(user: ApiUser, body: unknown): Record<string, unknown> {
    const spec = isRecord(body) && isRecord(body.spec) ? body.spec : {};
    const asked = isRecord(spec.resourceAttributes) ? spec.resourceAttributes : {};
    const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
    const subresource = text(asked.subresource);
    const allowed = isAllowed(user, {
      ...{ verb: text(asked.verb) ?? "", group: text(asked.group) ?? "" },
      resource: `${text(asked.resource) ?? ""}${subresource === undefined ? "" : `/${subresource}`}`,
      ...{ namespace: text(asked.namespace), name: text(asked.name) },
    });
    return {
      ...{ kind: "SelfSubjectAccessReview", apiVersion: "authorization.k8s.io/v1", metadata: {}, spec },
      status: { allowed, ...(allowed ? { reason: "RBAC: allowed" } : {}) },
    };
  }
}

async function readBody(request: IncomingMessage, { kind }: NamedResource): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw new ApiError(413, "RequestEntityTooLarge", "limit is 3145728");
    chunks.push(chunk);
  }
  if (bytes === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    const what = `the object provided is unrecognized (must be of type ${kind})`;
    throw badRequest(`${what}: couldn't get version/kind; json parse error (${Buffer.concat(chunks)})`);
  }
}

function send(response: ServerResponse, code: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(code, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  if (error instanceof TooManyRequests) {
    const headers = { "content-type": "text/plain; charset=utf-8", "retry-after": String(error.retryAfterSeconds) };
    return void response.writeHead(429, headers).end(error.message);
  }
  if (error instanceof NoSuchPage) {
    response.writeHead(404, { "content-type": "text/plain; charset=utf-8" }).end("404 page not found\n");
    return;
  }
  const known = asApiError(error);
  send(response, known.code, known.status, known.headers);
}

/** A websocket is refused in plain HTTP. */
export function refuseUpgrade(socket: Duplex, error: unknown): void {
  if (error instanceof UnknownProtocol) {
    return void socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  }
  const known = asApiError(error);
  const body = JSON.stringify(known.status);
  const head = [`HTTP/1.1 ${known.code} Refused`, "Content-Type: application/json", "Connection: close"];
  socket.end(`${head.join("\r\n")}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof TooManyRequests) return new ApiError(429, "TooManyRequests", error.message);
  return new ApiError(500, "InternalError", error instanceof Error ? (error.stack ?? error.message) : String(error));
}
