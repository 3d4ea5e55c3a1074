import { HttpError } from "./error-status.ts";

/** What the router needs of a route. In a path `{name}` is one segment, and `{name...}` at the end is all that is left. */
export interface Routed {
  readonly method: string;
  readonly path: string;
}

export interface Match<Route> {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

const maxPathCharacters = 8_192;

/** Pure: a method and a path in, a route and its parameters out. HEAD is answered by the route of GET. */
export class Router<Route extends Routed> {
  readonly #routes: readonly { readonly route: Route; readonly segments: readonly string[] }[];

  constructor(routes: readonly Route[]) {
    this.#routes = routes.map((route) => ({ route, segments: route.path.slice(1).split("/") }));
  }

  find(method: string, pathname: string): Match<Route> {
    const segments = decodedSegments(pathname);
    const here = this.#routes.flatMap(({ route, segments: pattern }) => {
      const params = segments && match(pattern, segments);
      return params ? [{ route, params }] : [];
    });
    if (here.length === 0) throw new HttpError("not_found", "there is nothing at this path");
    const asked = method === "HEAD" ? "GET" : method;
    const found = here.find(({ route }) => route.method === asked);
    if (found) return found;
    const allowed = [...new Set(here.map(({ route }) => route.method))].join(", ");
    throw new HttpError("method_not_allowed", `this path takes ${allowed}`, { headers: { allow: allowed } });
  }
}

/** Decoded once, each for itself: `%2e%2e` and `%2f` become text of a name, which is checked where it is used. */
function decodedSegments(pathname: string): string[] | undefined {
  if (!pathname.startsWith("/") || pathname.length > maxPathCharacters) return undefined;
  try {
    return pathname.slice(1).split("/").map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function match(pattern: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  const last = pattern.at(-1) ?? "";
  const isOpen = last.endsWith("...}");
  if (isOpen ? segments.length < pattern.length : segments.length !== pattern.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const isRest = isOpen && index === pattern.length - 1;
    const value = isRest ? segments.slice(index).join("/") : (segments[index] ?? "");
    const name = /^\{(\w+)(?:\.\.\.)?\}$/.exec(part)?.[1];
    if (name === undefined ? part !== value : value === "") return undefined;
    if (name !== undefined) params[name] = value;
  }
  return params;
}
