import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Denial, deny, malformed, type Permission } from "../rules/decide.ts";
import { printable } from "../rules/events.ts";
import { reasonPhrase, refusalBody } from "../rules/refusal-text.ts";
import type { OpenedTunnel } from "../tls/tunnel-agent.ts";
import { secureUpstream } from "../tls/upstream-tls.ts";
import { carryRequest } from "./carry-request.ts";
import type { Exchange } from "./exchange.ts";
import { headBytes, readForwardHead } from "./forward-head.ts";
import { prepareRequest } from "./prepare-request.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { farewellMs } from "./say-goodbye.ts";

/** Forwards one HTTP request. Each is decided separately, because the next one on the connection may name another host. */
export async function forwardRequest(
  request: IncomingMessage,
  answer: ServerResponse,
  context: ProxyContext,
  tunnel?: OpenedTunnel,
): Promise<void> {
  const { method = "", url = "", httpVersion, rawHeaders } = request;
  const head = readForwardHead({ method, url, httpVersion, rawHeaders }, tunnel);
  const via = tunnel ? "https" : "http";
  if (!head.ok) {
    const asked = { ...(head.target ?? tunnel ?? { host: printable(url), port: 0 }), via } as const;
    const denial = head.target ? deny("server_name", head.reason, "send the Host of the URL") : malformed(head.reason);
    context.refuse(asked, denial);
    return refuse(request, answer, head.status, denial);
  }
  const asked = { ...head.target, via } as const;
  const verdict = context.ask(asked);
  if (!verdict.allow) return refuse(request, answer, verdict.code === "limit" ? 429 : 403, verdict);
  const prepare = () => prepareRequest({ ...asked, method }, head, context);
  const forbid = (denial: Denial) => {
    context.refuse(asked, denial);
    refuse(request, answer, 403, denial);
  };
  const judged = prepare();
  if (!judged.ok) return forbid(judged.denial);
  const send = async (kept: Socket | undefined): Promise<void> => {
    const exchange = context.begin(asked);
    exchange.sent(url.length + headBytes(rawHeaders)); // a program can send data out in the head too
    if (kept) context.resume(exchange, verdict);
    const reached = kept ? { socket: kept } : await reach(exchange, verdict, context, tunnel);
    if ("status" in reached) return refuse(request, answer, reached.status, reached);
    const prepared = kept ? judged : prepare(); // a secret may have been removed while the server was dialled
    if (!prepared.ok) {
      reached.socket.destroy();
      exchange.end(prepared.denial.reason);
      return forbid(prepared.denial);
    }
    carryRequest({
      ...{
        request,
        answer,
        parts: prepared,
        isLast: prepared.isLast,
        hider: prepared.hider,
        exchange,
        socket: reached.socket,
      },
      ...{ agent: tunnel?.agent, idleMs: context.limits.idleMs },
      onFailure: (reason, isStale) => {
        // Retry as clients do: the server may have closed the reused connection before it saw the request.
        if (isStale && isRepeatable(method, head.headers)) void send(undefined).catch(() => request.socket.destroy());
        else if (answer.headersSent) answer.destroy();
        else refuse(request, answer, 502, { reason, remedy: "try again later" });
      },
    });
  };
  await send(tunnel?.agent.free);
}

type Unreached = { readonly status: number; readonly reason: string; readonly remedy: string };

/** A connection to the server, with TLS if the client's TLS is inspected. */
async function reach(
  exchange: Exchange,
  verdict: Permission,
  context: ProxyContext,
  tunnel: OpenedTunnel | undefined,
): Promise<{ readonly socket: Socket } | Unreached> {
  const dialled = await context.dial(exchange, verdict);
  if (dialled.kind === "denied") return { status: 403, ...dialled.denial };
  if (dialled.kind === "failed") return { status: 502, reason: dialled.reason, remedy: "try again later" };
  if (!tunnel) return dialled;
  const trust = await context.trust().catch(() => undefined);
  if (!trust) {
    const reason = "the certificate authorities of the host cannot be read";
    dialled.socket.destroy();
    exchange.end(reason);
    return { status: 502, reason, remedy: "repair them on the host, then try again" };
  }
  const secured = await secureUpstream(dialled.socket, tunnel.host, trust, context.limits.connectMs);
  if (secured.kind === "secured") return secured;
  exchange.end(secured.reason);
  return { status: 502, reason: secured.reason, remedy: "the server's certificate must match its name" };
}

/** Whether a request is safe to send twice: an idempotent method without a body. */
function isRepeatable(method: string, headers: Readonly<Record<string, unknown>>): boolean {
  return (
    ["GET", "HEAD", "OPTIONS"].includes(method) && !("content-length" in headers || "transfer-encoding" in headers)
  );
}

/** Refuses and closes the connection: the rest of a refused request must not be parsed as a new one. */
export function refuse(
  request: IncomingMessage,
  answer: ServerResponse,
  status: number,
  denial: Pick<Denial, "reason" | "remedy">,
): void {
  request.resume();
  if (answer.destroyed) return;
  const body = Buffer.from(refusalBody(denial));
  answer.writeHead(status, reasonPhrase(denial.reason), {
    ...{ "content-type": "text/plain; charset=utf-8", "content-length": body.length },
    connection: "close",
  });
  answer.write(body);
  if (request.readableEnded) answer.end();
  else endAfter(request, answer);
}

/** If the connection closed before the whole request has arrived, the OS would send a reset, and the client would lose the text. */
function endAfter(request: IncomingMessage, answer: ServerResponse): void {
  const timer = setTimeout(() => answer.end(), farewellMs);
  const end = () => {
    clearTimeout(timer);
    answer.end();
  };
  request.once("end", end);
  request.once("close", end);
}
