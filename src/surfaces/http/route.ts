import type { IncomingMessage, ServerResponse } from "node:http";
import type { z } from "zod";
import type { MemoryLease } from "../../service/body-memory.ts";
import type { Scope } from "../../service/tenants/scope.ts";
import type { Tenant } from "../../service/tenants/tenant.ts";
import type { TokenRecord } from "../../service/tenants/token-record.ts";
import type { HttpService } from "./service.ts";

/** A call of a route, with parameters that were validated with the route's schemas. */
export interface Call<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** whose sessions the call is for: the caller's, or those of the tenant that an admin names */
  readonly tenant: Tenant;
  /** the caller's token */
  readonly token: TokenRecord;
  /** what the caller's token may do */
  readonly scopes: readonly Scope[];
  readonly service: HttpService;
  readonly request: IncomingMessage;
  /** the body of a route that takes it as a whole */
  readonly bytes: Uint8Array;
  /** memory for a large response */
  readonly memory: MemoryLease | undefined;
  /** aborted when the client disconnects */
  readonly signal: AbortSignal;
}

/** `bytes` are sent as they are. `send` writes any other response that is not JSON. */
export type Reply =
  | { readonly status?: number; readonly json: object; readonly headers?: Readonly<Record<string, string>> }
  | {
      readonly bytes: readonly Uint8Array[];
      readonly contentType: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly send: (response: ServerResponse, signal: AbortSignal) => Promise<void> }
  | { readonly status: 204 };

export interface ReplySpec {
  readonly description: string;
  /** schema of a JSON body; undefined: another type, or no body */
  readonly schema?: z.ZodType;
  readonly contentType?: string;
}

/** What says which session a call is about, before its body is read. */
export interface NamedInCall {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly service: HttpService;
  /** undefined: a call without a token */
  readonly namespace: string | undefined;
  readonly scopes: readonly Scope[];
}

export interface RouteSpec<Params extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodObject> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  /** `none`: no token is needed; the route itself decides */
  readonly scope: Scope | "none";
  /** these schemas validate a call and describe it in the OpenAPI document */
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** headers that the route reads, for the OpenAPI document */
  readonly headers?: z.ZodObject;
  /** the body is not JSON: the route reads it from the request as a stream, or gets it as a whole */
  readonly takesBytes?: "stream" | "whole";
  /** the body is JSON that the route passes on without parsing it; `body` only describes it */
  readonly takesJsonBytes?: true;
  readonly replies: Readonly<Record<number, ReplySpec>>;
  /** A question of a router or an orchestrator: answered at once, and also when the service has all the requests it may have. */
  readonly isProbe?: true;
  /** Only looks at a session, and does not need to have it. */
  readonly isGlance?: true;
  /** The full id of the session that a call is about, where no parameter of the path names it; undefined: none. */
  sessionOf?(named: NamedInCall): string | undefined;
  handle(call: Call<z.output<Params>, z.output<Query>, z.output<Body>>): Promise<Reply>;
}

export type Route = RouteSpec<z.ZodObject, z.ZodObject, z.ZodObject>;

/** Type-checks a handler against its schemas, then erases their types. */
export function defineRoute<
  Params extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Body extends z.ZodObject = z.ZodObject<Record<never, never>>,
>(spec: RouteSpec<Params, Query, Body>): Route {
  return spec as unknown as Route;
}
