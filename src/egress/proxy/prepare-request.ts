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

/** A request as it goes out: allowed by its method and path, with values in the place of placeholders. */
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
 * Whether a request has to be the last one on its connection. The attack: a server that does not read the body of a GET, say, and
 * takes it for the next request, which no rule has seen.
 */
function mayHide(target: Target, { headers }: RequestParts, { rules }: ProxyContext["rules"]): boolean {
  const hasBody = headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
  return hasBody && rulesAbout(target, rules).length > 0;
}

/** Whether what a server answers can be searched as it comes. It can be compressed for the way alone, too. */
export function isReadable({ headers }: IncomingMessage): boolean {
  const is = (name: "content-encoding" | "transfer-encoding", plain: string) =>
    (headers[name] ?? plain).trim().toLowerCase() === plain;
  return is("content-encoding", "identity") && is("transfer-encoding", "chunked");
}

/** An answer in one piece and without compression. The attack: to ask for a value by ranges of a few bytes. */
function searchable(headers: RequestParts["headers"]): RequestParts["headers"] {
  const { range: _, "if-range": __, "request-range": ___, ...rest } = headers; // the last is Apache's other name for it
  return { ...rest, "accept-encoding": "identity" };
}
