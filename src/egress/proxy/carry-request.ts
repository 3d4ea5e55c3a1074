import { type ClientRequest, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { DialledArgs, TunnelAgent } from "../tls/tunnel-agent.ts";
import type { Exchange } from "./exchange.ts";
import { answerHeaders, headBytes } from "./forward-head.ts";
import type { SecretHider } from "./hide-secrets.ts";
import type { RequestParts } from "./place-secrets.ts";
import { isReadable } from "./prepare-request.ts";
import { takeTurns } from "./take-turns.ts";

export interface RequestToCarry {
  readonly request: IncomingMessage;
  readonly answer: ServerResponse;
  readonly parts: RequestParts;
  /** the connection is not reused afterwards, even with an agent */
  readonly isLast: boolean;
  /** removes secrets from the response */
  readonly hider: SecretHider | undefined;
  readonly exchange: Exchange;
  readonly socket: Socket;
  /** keeps the connection for the next request of a tunnel */
  readonly agent: TunnelAgent | undefined;
  readonly idleMs: number;
  /** the request failed; `isStale`: the connection was reused, and the server may never have seen the request */
  readonly onFailure: (why: string, isStale: boolean) => void;
}

/** Sends an allowed request, and its response back. */
export function carryRequest(carried: RequestToCarry): void {
  const { request, answer, exchange, socket, agent } = carried;
  const { host } = exchange.request;
  exchange.stopsBy(() => {
    socket.destroy();
    answer.destroy();
  });
  // A response that is queued behind another one gets no event when its client disconnects.
  const client = request.socket;
  const hasLeft = () => answer.destroyed || client.destroyed;
  if (hasLeft()) {
    socket.destroy();
    exchange.end();
    return;
  }
  agent?.keepOnly(socket);
  const outgoing = httpRequest(requestArgs(carried));
  const stalled = () => exchange.cut("the connection was idle for too long");
  const closed = () => exchange.end();
  const left = () => socket.destroy();
  socket.setTimeout(carried.idleMs).on("timeout", stalled).once("close", closed);
  answer.once("close", left);
  client.once("close", left);
  outgoing.once("close", () => {
    answer.off("close", left); // the response is complete, so the connection may be kept
    client.off("close", left);
    socket.off("timeout", stalled).off("close", closed);
    exchange.end();
  });
  let hasFailed = false;
  const fail = (why: string) => {
    if (hasFailed) return;
    hasFailed = true;
    // Do not retry a request that was cut: the rules may forbid it now.
    const isStale = outgoing.reusedSocket && agent !== undefined && !answer.headersSent && !hasLeft();
    exchange.end(why);
    carried.onFailure(why, isStale);
  };
  outgoing.on("error", () => fail(`${host} did not answer as HTTP`));
  outgoing.on("upgrade", (_, upgraded) => {
    upgraded.destroy();
    fail(`${host} answered with another protocol`);
  });
  outgoing.on("response", (response) => passAnswer(response, carried, fail));
  sendBody(request, outgoing, carried);
}

function requestArgs({ request, parts, isLast, socket, agent }: RequestToCarry): DialledArgs {
  const common = { method: request.method ?? "", path: parts.path, setHost: false, maxHeaderSize: 64 * 1024 };
  if (!agent) return { ...common, headers: parts.headers, createConnection: () => socket };
  const { connection, ...headers } = parts.headers;
  return {
    ...common,
    headers: isLast && connection ? { ...headers, connection } : headers,
    ...{ agent, dialled: socket as TLSSocket },
  };
}

function sendBody(request: IncomingMessage, outgoing: ClientRequest, { exchange, socket }: RequestToCarry): void {
  request.on("data", (bytes: Buffer) => exchange.sent(bytes.length));
  request.on("error", () => socket.destroy());
  request.pipe(outgoing);
}

function passAnswer(
  response: IncomingMessage,
  { answer, exchange, hider }: RequestToCarry,
  fail: (why: string) => void,
): void {
  const { host } = exchange.request;
  if (hider && !isReadable(response)) {
    response.destroy();
    fail(`${host} answered in an encoding that cannot be searched for secrets`);
    return;
  }
  try {
    const shown = (text: string) => hider?.text(text) ?? text;
    // Before names are lower-cased, because a value in a name would no longer match.
    const fields = answerHeaders(response.rawHeaders.map(shown)).flat();
    answer.writeHead(response.statusCode ?? 502, shown(response.statusMessage ?? ""), fields);
  } catch {
    response.destroy();
    fail(`${host} answered with headers that cannot be passed on`);
    return;
  }
  exchange.received(headBytes(response.rawHeaders));
  response.on("data", (bytes: Buffer) => exchange.received(bytes.length));
  response.on("error", () => answer.destroy());
  response.on("aborted", () => answer.destroy());
  const searched = hider?.stream();
  searched?.pipe(answer);
  response.pipe(searched ?? answer);
  takeTurns(response, searched ?? answer);
}
