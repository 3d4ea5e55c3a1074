import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { type Denial, deny, malformed } from "./decide.ts";
import { printable } from "./events.ts";
import { answerHeaders, readForwardHead } from "./forward-head.ts";
import { isReadable, prepareRequest } from "./prepare-request.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { reasonPhrase, refusalBody } from "./refusal-text.ts";
import type { Target } from "./target.ts";
import { secureUpstream } from "./upstream-tls.ts";

/** One HTTP request, decided by itself: a connection that is kept alive may name another host next. `tunnel`: it came in one. */
export async function forwardRequest(
  request: IncomingMessage,
  answer: ServerResponse,
  context: ProxyContext,
  tunnel?: Target,
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
  const prepared = prepareRequest({ ...asked, method }, head, context);
  if (!prepared.ok) {
    context.refuse(asked, prepared.denial);
    return refuse(request, answer, 403, prepared.denial);
  }
  const exchange = context.begin(asked);
  const dialled = await context.dial(exchange, verdict);
  if (dialled.kind === "denied") return refuse(request, answer, 403, dialled.denial);
  if (dialled.kind === "failed") {
    return refuse(request, answer, 502, { reason: dialled.reason, remedy: "try again later" });
  }
  const secured =
    tunnel && (await secureUpstream(dialled.socket, asked.host, await context.trust(), context.limits.connectMs));
  if (secured?.kind === "failed") {
    exchange.end(secured.reason);
    return refuse(request, answer, 502, { reason: secured.reason, remedy: "the server has to prove its name" });
  }
  const { socket } = secured ?? dialled;
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
    path: prepared.path,
    headers: prepared.headers,
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
    const { hider } = prepared;
    if (hider && !isReadable(response)) {
      response.destroy();
      return fail(`${asked.host} answered in an encoding that cannot be searched for secrets`);
    }
    try {
      const fields = answerHeaders(response.rawHeaders).flat();
      const [status, message = ""] = [response.statusCode ?? 502, response.statusMessage];
      answer.writeHead(
        status,
        hider?.text(message) ?? message,
        hider ? fields.map((text) => hider.text(text)) : fields,
      );
    } catch {
      response.destroy();
      return fail(`${asked.host} answered with header fields that cannot be passed on`);
    }
    response.on("data", (bytes: Buffer) => exchange.received(bytes.length));
    response.on("error", () => answer.destroy());
    response.on("aborted", () => answer.destroy());
    if (hider) response.pipe(hider.stream()).pipe(answer);
    else response.pipe(answer);
  });
  request.on("data", (bytes: Buffer) => exchange.sent(bytes.length));
  request.on("error", () => socket.destroy());
  request.pipe(outgoing);
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
