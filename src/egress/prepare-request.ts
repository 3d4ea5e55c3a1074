import type { IncomingMessage } from "node:http";
import type { Denial, EgressRequest } from "./decide.ts";
import { SecretHider } from "./hide-secrets.ts";
import { placeSecrets, type RequestParts } from "./place-secrets.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { judgeRequest } from "./request-rules.ts";

type Prepared =
  | ({ readonly ok: true; readonly hider: SecretHider | undefined } & RequestParts)
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
  return { ...placed, hider, headers: hider ? searchable(placed.headers) : placed.headers };
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
