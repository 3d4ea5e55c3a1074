import type { IncomingMessage } from "node:http";
import type { Denial, EgressRequest } from "../rules/decide.ts";
import { judgeRequest, rulesAbout } from "../rules/request-rules.ts";
import type { Target } from "../rules/target.ts";
import { SecretHider } from "./hide-secrets.ts";
import { placeSecrets, type RequestParts } from "./place-secrets.ts";
import type { ProxyContext } from "./proxy-context.ts";

type Prepared =
  | ({ readonly ok: true; readonly hider: SecretHider | undefined; readonly isLast: boolean } & RequestParts)
  | { readonly ok: false; readonly denial: Denial };

/** A request ready to send: its method and path are allowed, and placeholders are replaced by values. */
export function prepareRequest(
  request: EgressRequest & { readonly method: string },
  parts: RequestParts,
  { rules, keys }: Pick<ProxyContext, "rules" | "keys">,
): Prepared {
  const denial = judgeRequest({ ...request, path: parts.path, fields: Object.keys(parts.headers) }, rules.rules);
  if (denial) return { ok: false, denial };
  const placed = placeSecrets(request, parts, keys.secrets, rules);
  if (!placed.ok) return placed;
  const hider = SecretHider.for(request.host, keys.secrets);
  return {
    ...placed,
    isLast: mayHide(request, placed, rules),
    hider,
    headers: hider ? searchable(placed.headers) : placed.headers,
  };
}

/**
 * Whether a request must be the last one on its connection. The attack: a server that ignores the body of, for example, a GET
 * and parses it as the next request, which no rule has checked.
 */
function mayHide(target: Target, { headers }: RequestParts, { rules }: ProxyContext["rules"]): boolean {
  const hasBody = headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
  return hasBody && rulesAbout(target, rules).length > 0;
}

/** Whether a response can be searched for secrets. Both the content and the transfer encoding can compress it. */
export function isReadable({ headers }: IncomingMessage): boolean {
  const is = (name: "content-encoding" | "transfer-encoding", plain: string) =>
    (headers[name] ?? plain).trim().toLowerCase() === plain;
  return is("content-encoding", "identity") && is("transfer-encoding", "chunked");
}

/** Requests a whole, uncompressed response. The attack: reading a value in ranges of a few bytes. */
function searchable(headers: RequestParts["headers"]): RequestParts["headers"] {
  const { range: _, "if-range": __, "request-range": ___, ...rest } = headers; // Apache also accepts request-range
  return { ...rest, "accept-encoding": "identity" };
}
