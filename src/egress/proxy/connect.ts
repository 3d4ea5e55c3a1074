import type { Duplex } from "node:stream";
import { isInspected } from "../../policy/network/inspect.ts";
import { deny, malformed } from "../rules/decide.ts";
import { printable } from "../rules/events.ts";
import { rawRefusal } from "../rules/refusal-text.ts";
import type { Target } from "../rules/target.ts";
import { parseAuthority } from "../rules/target.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { sayGoodbye } from "./say-goodbye.ts";
import { openTunnel } from "./tunnel.ts";

/** Handles a CONNECT request: decides, dials, responds, and then runs the tunnel. */
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
  if (isInspected(context.rules.inspect ?? [], asked.host, asked.port))
    return openTunnelHere(client, early, asked, context);
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

/** Inspects a tunnel: each request in it is decided and dialled separately, and errors become HTTP responses. */
function openTunnelHere(client: Duplex, early: Buffer, target: Target, context: ProxyContext): void {
  if (!context.openTls) {
    const reason = `TLS to ${target.host} must be decrypted, but this session started without a certificate authority`;
    const denial = deny("not_inspected", reason, "start a new session");
    context.refuse({ ...target, via: "connect" }, denial);
    sayGoodbye(client, rawRefusal(403, denial));
    return;
  }
  client.write("HTTP/1.1 200 Connection established\r\n\r\n");
  context.openTls(client, early, target);
}
