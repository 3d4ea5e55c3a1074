import { signal } from "@preact/signals";
import type { SessionRef } from "../api/client.ts";
import { pathPart } from "../api/path-part.ts";

/** The panels of a session, in the order of their tabs. */
export const panels = [
  "timeline",
  "variables",
  "files",
  "checkpoints",
  "network",
  "limits",
  "receipt",
  "models",
  "audit",
] as const;
export type PanelName = (typeof panels)[number];

/** What the page shows. It is the fragment of the address, so that Back works and a link can be shared. */
export type Route =
  | { readonly page: "sessions" }
  | { readonly page: "service" }
  | { readonly page: "session"; readonly session: SessionRef; readonly panel: PanelName };

export const route = signal<Route>(parseRoute(location.hash));
addEventListener("hashchange", () => {
  route.value = parseRoute(location.hash);
});

/** Pure: `#/sessions/ID/PANEL?namespace=NS` */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page, id, panel] = path.split("/").map(decoded);
  if (page === "service") return { page };
  if (page !== "sessions" || !id) return { page: "sessions" };
  const namespace = new URLSearchParams(query).get("namespace") ?? undefined;
  return { page: "session", session: { id, namespace }, panel: panels.find((one) => one === panel) ?? "timeline" };
}

export function hrefOf(to: Route): string {
  if (to.page !== "session") return `#/${to.page}`;
  const { id, namespace } = to.session;
  const query = namespace === undefined ? "" : `?${new URLSearchParams({ namespace })}`;
  return `#/sessions/${pathPart(id)}/${to.panel}${query}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
