import { HttpError } from "./answers/error-status.ts";

/** What the router needs of a route. In a path, `{name}` matches one segment, and a final `{name...}` matches the rest. */
export interface Routed {
  readonly method: string;
  readonly path: string;
}

export interface Match<Route> {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

const maxPathCharacters = 8_192;
const pathsHint = "paths begin with /v1; GET /v1/openapi.json lists them";

type Part = { readonly text: string } | { readonly name: string; readonly isRest: boolean };

/** Pure: a method and a path in, a route and its parameters out. HEAD uses the route of GET. */
export class Router<Route extends Routed> {
  readonly #routes: readonly { readonly route: Route; readonly parts: readonly Part[] }[];

  constructor(routes: readonly Route[]) {
    this.#routes = routes.map((route) => ({ route, parts: route.path.slice(1).split("/").map(partOf) }));
  }

  find(method: string, pathname: string): Match<Route> {
    const segments = decodedSegments(pathname);
    const wantedMethod = method === "HEAD" ? "GET" : method;
    const allowed = new Set<string>();
    for (const { route, parts } of segments ? this.#routes : []) {
      const params = segments && match(parts, segments);
      if (params && route.method === wantedMethod) return { route, params };
      if (params) allowed.add(route.method);
    }
    if (allowed.size === 0) throw new HttpError("not_found", "there is nothing at this path", { hint: pathsHint });
    const all = [...allowed].join(", ");
    throw new HttpError("method_not_allowed", `this path accepts ${all}`, { headers: { allow: all } });
  }
}

function partOf(text: string): Part {
  const [, name, rest] = /^\{(\w+)(\.\.\.)?\}$/.exec(text) ?? [];
  return name === undefined ? { text } : { name, isRest: rest !== undefined };
}

/** Decodes each segment once. `%2e%2e` and `%2f` become part of a name, which is checked where it is used. */
function decodedSegments(pathname: string): string[] | undefined {
  if (!pathname.startsWith("/") || pathname.length > maxPathCharacters) return undefined;
  try {
    return pathname.slice(1).split("/").map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function match(parts: readonly Part[], segments: readonly string[]): Record<string, string> | undefined {
  const last = parts.at(-1);
  const isOpen = last !== undefined && "name" in last && last.isRest;
  if (isOpen ? segments.length < parts.length : segments.length !== parts.length) return undefined;
  // Compare the fixed segments first, because most routes differ there.
  for (const [index, part] of parts.entries()) if ("text" in part && part.text !== segments[index]) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    if ("text" in part) continue;
    const value = part.isRest ? segments.slice(index).join("/") : (segments[index] ?? "");
    if (value === "") return undefined;
    params[part.name] = value;
  }
  return params;
}
