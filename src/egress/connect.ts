import type { Duplex } from "node:stream";
import { malformed } from "./decide.ts";
import { printable } from "./events.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { rawRefusal } from "./refusal-text.ts";
import { sayGoodbye } from "./say-goodbye.ts";
import { parseAuthority } from "./target.ts";
import { openTunnel } from "./tunnel.ts";

/** A CONNECT request: decided, dialled, answered, and from then on a tunnel. */
export async function connectRequest(
  authority: string,
  client: Duplex,
  early: Buffer,
  context: ProxyContext,
): Promise<void> {
  const parsed = parseAuthority(authority);
  if (!parsed.ok) {
    const denial = malformed(parsed.reason);
    context.refuse({ host: printable(authority), port: 0, via: "connect" }, denial);
    return sayGoodbye(client, rawRefusal(400, denial));
  }
  const asked = { ...parsed.target, via: "connect" as const };
  const verdict = context.ask(asked);
  if (!verdict.allow) return sayGoodbye(client, rawRefusal(verdict.code === "limit" ? 429 : 403, verdict));
  const exchange = context.begin(asked);
  exchange.stopsBy(() => client.destroy());
  const dialled = await context.dial(exchange, verdict);
  if (dialled.kind === "denied") return sayGoodbye(client, rawRefusal(403, dialled.denial));
  if (dialled.kind === "failed") {
    return sayGoodbye(client, rawRefusal(502, { reason: dialled.reason, remedy: "try again later" }));
  }
  client.write("HTTP/1.1 200 Connection established\r\n\r\n");
  openTunnel({
    ...{ client, early, upstream: dialled.socket, host: asked.host, needsTls: verdict.needsTls, exchange },
    limits: context.limits,
    onRefused: (denial) => {
      context.refuse(asked, denial);
      exchange.end(denial.reason);
    },
  });
}
