import type { Tenant } from "../../../service/tenants/tenant.ts";
import type { TokenRecord } from "../../../service/tenants/token-record.ts";
import { sessionKey, shownId } from "../../../sessions/session-id.ts";
import type { Route } from "../route.ts";
import type { HttpService } from "../service.ts";
import type { RoutedSession } from "./forwarding.ts";

export interface UnreadCall {
  readonly params: Readonly<Record<string, string>>;
  readonly search: string;
  readonly service: HttpService;
  /** undefined: a call without a token */
  readonly caller: { readonly tenant: Tenant; readonly token: Pick<TokenRecord, "scopes"> } | undefined;
}

/** The session that a call is about, as far as its path and query say; undefined: none. */
export function sessionOfCall(route: Route, call: UnreadCall): RoutedSession | undefined {
  const tenant = call.caller?.tenant;
  const key = keyOf(route, call);
  if (key === undefined) return undefined;
  const take = !tenant || route.isGlance ? undefined : () => tenant.sessions.get(shownId(key));
  return { key, take };
}

function keyOf(route: Route, { params, search, service, caller }: UnreadCall): string | undefined {
  const namespace = caller?.tenant.namespace;
  const scopes = caller?.token.scopes ?? [];
  if (route.sessionOf)
    return route.sessionOf({ params, service, namespace, scopes, query: new URLSearchParams(search) });
  if (namespace === undefined || params.session === undefined) return undefined;
  return sessionKey(namespace, params.session);
}
