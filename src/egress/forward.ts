import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { type Denial, deny, malformed } from "./decide.ts";
import { printable } from "./events.ts";
import { answerHeaders, readForwardHead } from "./forward-head.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { reasonPhrase, refusalBody } from "./refusal-text.ts";

/** One plain HTTP request, decided by itself: a connection that is kept alive may name another host next. */
export async function forwardRequest(
  request: IncomingMessage,
  answer: ServerResponse,
  context: ProxyContext,
): Promise<void> {
  const { method = "", url = "", httpVersion, rawHeaders } = request;
  const head = readForwardHead({ method, url, httpVersion, rawHeaders });
  if (!head.ok) {
    const asked = { ...(head.target ?? { host: printable(url), port: 0 }), via: "http" as const };
    const denial = head.target ? deny("server_name", head.reason, "send the Host of the URL") : malformed(head.reason);
    context.refuse(asked, denial);
    return refuse(request, answer, head.status, denial);
  }
  const asked = { ...head.target, via: "http" as const };
  const verdict = context.ask(asked);
  if (!verdict.allow) return refuse(request, answer, verdict.code === "limit" ? 429 : 403, verdict);
  const exchange = context.begin(asked);
  exchange.sent(url.length + lengthOf(rawHeaders)); // data leaves in a head as well as in a body
  const dialled = await context.dial(exchange, verdict);
  if (dialled.kind === "denied") return refuse(request, answer, 403, dialled.denial);
  if (dialled.kind === "failed") {
    return refuse(request, answer, 502, { reason: dialled.reason, remedy: "try again later" });
  }
  const { socket } = dialled;
  exchange.stopsBy(() => {
    socket.destroy();
    answer.destroy();
  });
  socket.setTimeout(context.limits.idleMs, () => exchange.cut("nothing moved for too long"));
  socket.once("close", () => exchange.end());
  if (answer.destroyed) return void socket.destroy();
  answer.once("close", () => socket.destroy());
  const outgoing = httpRequest({
    createConnection: () => socket,
    method,
    path: head.path,
    headers: head.headers,
    setHost: false,
    maxHeaderSize: 64 * 1024,
  });
  const fail = (why: string) => {
    exchange.end(why);
    if (answer.headersSent) answer.destroy();
    else refuse(request, answer, 502, { reason: why, remedy: "try again later" });
  };
  outgoing.on("error", () => fail(`${asked.host} did not answer as HTTP`));
  outgoing.on("upgrade", (_, upgraded) => upgraded.destroy());
  outgoing.on("response", (response) => {
    try {
      answer.writeHead(
        response.statusCode ?? 502,
        response.statusMessage ?? "",
        answerHeaders(response.rawHeaders).flat(),
      );
    } catch {
      response.destroy();
      return fail(`${asked.host} answered with header fields that cannot be passed on`);
    }
    exchange.received(lengthOf(response.rawHeaders));
    response.on("data", (bytes: Buffer) => exchange.received(bytes.length));
    response.on("error", () => answer.destroy());
    response.on("aborted", () => answer.destroy());
    response.pipe(answer);
  });
  request.on("data", (bytes: Buffer) => exchange.sent(bytes.length));
  request.on("error", () => socket.destroy());
  request.pipe(outgoing);
}

/** Bytes of header fields, about as they are on the wire. */
function lengthOf(rawHeaders: readonly string[]): number {
  return rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
}

/** The connection ends with it: whoever was refused does not go on with bytes that we would have to guess about. */
export function refuse(
  request: IncomingMessage,
  answer: ServerResponse,
  status: number,
  denial: Pick<Denial, "reason" | "remedy">,
): void {
  request.resume();
  if (answer.destroyed) return;
  answer.writeHead(status, reasonPhrase(denial.reason), {
    "content-type": "text/plain; charset=utf-8",
    connection: "close",
  });
  answer.end(refusalBody(denial));
}
