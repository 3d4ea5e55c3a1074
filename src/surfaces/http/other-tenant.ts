import { z } from "zod";
import { allows, type Scope } from "../../service/tenants/scope.ts";
import { HttpError } from "./answers/error-status.ts";
import type { Route } from "./route.ts";

/** On every path under /v1/sessions: an admin acts on the sessions of another tenant. The routes themselves never see it. */
export const namespaceQuery = z
  .string()
  .optional()
  .describe("namespace of another token, whose sessions the call is for; only with the scope `admin`");

/** On lists: the sessions of all tenants. */
export const namespacesQuery = z
  .enum(["all"])
  .optional()
  .describe("`all`: the sessions of all tokens, with their namespaces; only with the scope `admin`");

const parameter = /(?:^|&)namespace=/;

/** Whether the caller of a route may name the tenant. */
export function takesNamespace({ path, scope }: Pick<Route, "path" | "scope">): boolean {
  return scope !== "none" && (path === "/v1/sessions" || path.startsWith("/v1/sessions/"));
}

/** Pure: the query of a request without the name of the tenant, and that name. */
export function splitNamespace(
  search: string,
  route: Pick<Route, "path" | "scope">,
): { readonly search: string; readonly namespace?: string } {
  if (!parameter.test(search) || !takesNamespace(route)) return { search };
  const query = new URLSearchParams(search);
  const [namespace = "", ...more] = query.getAll("namespace");
  if (more.length > 0) throw new HttpError("bad_request", "`namespace` was sent twice");
  query.delete("namespace");
  return { search: query.toString(), namespace };
}

/** Throws unless a token may act for other tenants. */
export function requireAdmin(scopes: readonly Scope[], what: string): void {
  if (allows(scopes, "admin")) return;
  throw new HttpError("forbidden", `${what} needs the scope admin`, {
    hint: "leave the parameter out to get the sessions of this token",
  });
}
