/** What a token allows. */

/** The tokens of a service: `TokenStore.single(token)`, or `TokenStore.open(file)` for several tenants. */
export { type MadeToken, type NewToken, newTokenText } from "../../service/tenants/new-token.ts";
export type { Scope } from "../../service/tenants/scope.ts";
export type { TokenRecord } from "../../service/tenants/token-record.ts";
export type { TokenStorage } from "../../service/tenants/token-storage.ts";
export { TokenStore } from "../../service/tenants/token-store.ts";
/** A protocol in addition to the routes, such as `mcpMount()` of `codecell/mcp`. */
export type { Mount, MountedHandler, MountPeers } from "./gate.ts";
/** Limits of a service, and their defaults. */
export { defaultLimits, type HttpLimits } from "./limits.ts";
/** Opens a port for a service. */
export { type Listener, type Listening, listen } from "./listen.ts";
/** One mounted protocol for one user, without the HTTP API. */
export { MountServer, type MountServerOptions } from "./mount-server.ts";
/** The HTTP API; `handle` accepts requests from your own server. */
export { HttpService, type ServiceOptions } from "./service.ts";
