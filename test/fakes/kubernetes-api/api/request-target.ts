import type { IncomingMessage } from "node:http";
import { NoSuchPage, noSuchPath } from "./api-error.ts";
import { findResource, isGroup, type Resource, resources } from "./resource-table.ts";

/** What a request asks for, in the words of access rules. */
export interface RequestTarget {
  readonly verb: string;
  readonly resource: Resource;
  readonly subresource: string | undefined;
  /** undefined: of all namespaces, or of none */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly query: URLSearchParams;
}

const verbs: Record<string, { one: string; all: string }> = {
  GET: { one: "get", all: "list" },
  POST: { one: "create", all: "create" },
  PUT: { one: "update", all: "update" },
  PATCH: { one: "patch", all: "patch" },
  DELETE: { one: "delete", all: "deletecollection" },
};

/** Reads `/api/v1/namespaces/NS/pods/NAME/attach` and the like. */
export function parseTarget(
  { method = "GET", url = "/" }: IncomingMessage,
  served: readonly Resource[] = resources,
): RequestTarget {
  const { pathname, searchParams: query } = new URL(url, "https://server");
  const parts = pathname.split("/").filter(Boolean).map(decodeURIComponent);
  const [group, version] = parts[0] === "api" ? ["", parts[1]] : [parts[1], parts[2]];
  let rest = parts.slice(parts[0] === "api" ? 2 : 3);
  let namespace: string | undefined;
  if (rest[0] === "namespaces" && rest.length > 2) {
    namespace = rest[1];
    rest = rest.slice(2);
  }
  const [plural = "", name, subresource] = rest;
  const resource = findResource(group ?? "", version ?? "", plural, served);
  if (!isGroup(group ?? "", version ?? "", served)) throw new NoSuchPage();
  if (resource === undefined || rest.length > 3) throw noSuchPath();
  if (subresource !== undefined && !resource.subresources.includes(subresource)) throw noSuchPath();
  if (name !== undefined && resource.isNamespaced && namespace === undefined) throw noSuchPath();
  const found = verbs[method]?.[name === undefined ? "all" : "one"];
  if (found === undefined) throw noSuchPath();
  const watches = found === "list" && ["true", "1"].includes(query.get("watch") ?? "");
  return { verb: watches ? "watch" : found, resource, subresource, namespace, name, query };
}
