import {
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  request as requestHttp,
  type ServerResponse,
} from "node:http";
import { request as requestHttps } from "node:https";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { forwardedHeader } from "../../../service/gateways/peer-signature.ts";
import { dropBody } from "../answers/send-json.ts";
import { passedOn } from "./forwarded-headers.ts";

/** Where a request goes. */
export interface Peer {
  readonly id: string;
  /** from the list of gateways, never from a client */
  readonly url: string;
}

export interface ForwardOptions {
  /** the signature of this request */
  readonly signature: string;
  readonly agent?: Agent;
  /** how long the peer may take to accept the connection */
  readonly connectMs: number;
  /** aborted when the client disconnects, the peer is lost, or this gateway stops */
  readonly signal: AbortSignal;
  /** the body, if it was read already; otherwise it is streamed */
  readonly body?: Uint8Array | undefined;
}

/**
 * Passes a request on to the gateway that has its session, and the response back. Both bodies are streamed at the speed of the
 * reader, and never kept. Returns when the response is sent; throws only if the client has got nothing yet.
 */
export async function forwardRequest(
  request: IncomingMessage,
  response: ServerResponse,
  peer: Peer,
  options: ForwardOptions,
): Promise<void> {
  const upstream = connectTo(peer, request, options);
  const stop = () => upstream.destroy(options.signal.reason instanceof Error ? options.signal.reason : undefined);
  options.signal.addEventListener("abort", stop, { once: true });
  try {
    if (options.signal.aborted) stop();
    sendBody(request, upstream, options.body);
    const answer = await answerOf(upstream, peer, options.connectMs);
    await passBack(answer, request, response);
  } finally {
    options.signal.removeEventListener("abort", stop);
    request.unpipe(upstream);
    upstream.destroy();
  }
}

function connectTo(peer: Peer, request: IncomingMessage, options: ForwardOptions): ClientRequest {
  const { protocol, hostname, port, host, pathname } = new URL(peer.url);
  const send = protocol === "https:" ? requestHttps : requestHttp;
  return send({
    ...{ hostname: hostname.replace(/^\[|\]$/g, ""), port, method: request.method },
    path: `${pathname.replace(/\/$/, "")}${request.url}`,
    headers: [...["Host", host, forwardedHeader, options.signature], ...headersOf(request, options.body)],
    ...(options.agent && protocol === "http:" ? { agent: options.agent } : {}),
  });
}

/** The client's headers, with the length of the body as it is sent. */
function headersOf(request: IncomingMessage, body: Uint8Array | undefined): string[] {
  const headers = passedOn(request.rawHeaders, request.headers);
  if (!takesBody(request)) return without(headers, "content-length");
  if (body) return [...without(headers, "content-length"), "Content-Length", String(body.byteLength)];
  const isChunked = hasBody(request) && request.headers["content-length"] === undefined;
  return isChunked ? [...headers, "Transfer-Encoding", "chunked"] : headers;
}

function without(headers: readonly string[], name: string): string[] {
  return headers.filter((_, at) => headers[at - (at % 2)]?.toLowerCase() !== name);
}

function sendBody(request: IncomingMessage, upstream: ClientRequest, body: Uint8Array | undefined): void {
  if (body || !hasBody(request) || !takesBody(request)) {
    upstream.end(body);
    return;
  }
  request.pipe(upstream);
  // A client that is gone in the middle must not leave a body that looks complete.
  request.once("error", () => upstream.destroy());
}

function answerOf(upstream: ClientRequest, peer: Peer, connectMs: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => upstream.destroy(new Error(`no connection within ${connectMs} ms`)), connectMs);
    upstream.once("socket", (socket) => {
      if (!socket.connecting) clearTimeout(timer);
      else socket.once("connect", () => clearTimeout(timer));
    });
    upstream.once("response", (answer) => resolve(answer));
    // stays after the response: a peer that answers early closes the connection while the body is still being sent
    upstream.on("error", (error) => {
      clearTimeout(timer);
      reject(unreachable(peer, error));
    });
    upstream.once("close", () => {
      clearTimeout(timer);
      reject(unreachable(peer, new Error("the connection was closed")));
    });
  });
}

/** The attack: a response that was cut must not look complete. So the client's connection is closed with it. */
async function passBack(answer: IncomingMessage, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (response.destroyed) return; // it has closed, and will not say so again
  const isEarly = !request.complete && !answer.complete && hasBody(request);
  const headers = passedOn(answer.rawHeaders, answer.headers);
  if (isEarly) headers.push("Connection", "close");
  response.writeHead(answer.statusCode ?? 502, headers);
  response.flushHeaders(); // the first event of a stream may take its time
  await new Promise<void>((resolve) => {
    const end = () => {
      if (isEarly && !request.complete) void dropBody(request).then(() => response.end());
      else response.end();
    };
    answer.pipe(response, { end: false });
    answer.once("end", () => (answer.complete ? end() : response.destroy()));
    answer.once("close", () => answer.complete || response.destroy());
    answer.once("error", () => response.destroy());
    response.once("close", () => {
      answer.destroy();
      resolve();
    });
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}

/**
 * No route reads the body of such a request. The attack: a client announces one and never sends it. Node waits for the first byte before
 * it sends the headers on, so the request would stay open here for minutes, and the other gateway would not know of it.
 */
function takesBody({ method }: IncomingMessage): boolean {
  return method !== "GET" && method !== "HEAD";
}

function unreachable({ id }: Peer, cause: unknown): CodecellError {
  return new CodecellError(
    "service_unavailable",
    `gateway ${id}, which has this session, did not answer: ${reasonOf(cause)}`,
    {
      hint: "try again in a few seconds: if that gateway is lost, another one continues the session. A run may have started, so send it again with the same Idempotency-Key",
      cause,
    },
  );
}

/** Without addresses: clients need not know the network behind the router. */
function reasonOf(cause: unknown): string {
  const { code } = cause as NodeJS.ErrnoException;
  return typeof code === "string" ? code : messageOf(cause);
}
