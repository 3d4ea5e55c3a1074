import type { ServerResponse } from "node:http";
import { ApiError, expired } from "./api-error.ts";
import type { ApiObject } from "./api-object.ts";
import type { Change, ObjectStore } from "./object-store.ts";
import type { RequestTarget } from "./request-target.ts";
import { apiVersion } from "./resource-table.ts";
import { parseSelectors, type Selector } from "./selectors.ts";

/** One watch that is under way. */
export interface WatchStream {
  /** Tells the client how far it is, if it asked for bookmarks. A real server does so about once a minute. */
  bookmark(): void;
  /** Ends the connection in the middle, as a proxy or a dead server would. */
  drop(): void;
  /** Ends it as the server does after its own time limit. */
  end(): void;
}

/** Streams the changes of a list, from the version that the client names. */
export function openWatch(
  store: ObjectStore,
  target: RequestTarget,
  response: ServerResponse,
  onClose: (stream: WatchStream) => void,
): WatchStream {
  const { resource, namespace, name, query } = target;
  const selected = parseSelectors(resource, query);
  const selects: Selector = (object) =>
    (namespace === undefined || !resource.isNamespaced || object.metadata.namespace === namespace) &&
    (name === undefined || object.metadata.name === name) &&
    selected(object);
  response.writeHead(200, { "content-type": "application/json", "transfer-encoding": "chunked" });
  response.flushHeaders();
  const send = (type: string, object: unknown) => response.write(`${JSON.stringify({ type, object })}\n`);
  const pass = (change: Change) => {
    if (change.resource !== resource) return;
    const event = eventOf(change, selects);
    if (event !== undefined) send(event.type, event.object);
  };
  let unsubscribe = () => {};
  const seconds = Number(query.get("timeoutSeconds") ?? 0);
  const timer = seconds > 0 ? setTimeout(() => stream.end(), seconds * 1000) : undefined;
  const stream: WatchStream = {
    bookmark: () => {
      if (query.get("allowWatchBookmarks") !== "true") return;
      const metadata = { resourceVersion: String(store.version), creationTimestamp: null };
      send("BOOKMARK", { kind: resource.kind, apiVersion: apiVersion(resource), metadata });
    },
    drop: () => void response.destroy(),
    end: () => void response.end(),
  };
  response.once("close", () => {
    clearTimeout(timer);
    unsubscribe();
    onClose(stream);
  });
  const from = query.get("resourceVersion") ?? "";
  if (from === "" || from === "0") {
    for (const object of store.list(resource, namespace)) if (selects(object)) send("ADDED", object);
  } else if (Number(from) < store.compactedTo) {
    const error = expired(`too old resource version: ${from} (${store.compactedTo})`);
    send("ERROR", error.status);
    response.end();
    return stream;
  } else {
    for (const change of store.changesAfter(Number(from))) pass(change);
  }
  unsubscribe = store.subscribe(pass);
  return stream;
}

/** An object that begins or ceases to match a selector is added or deleted for the client. */
function eventOf({ type, object, before }: Change, selects: Selector): { type: string; object: ApiObject } | undefined {
  const did = before !== undefined && selects(before);
  const does = type !== "DELETED" && selects(object);
  if (does) return { type: did ? "MODIFIED" : "ADDED", object };
  if (!did) return undefined;
  // the client sees it as it was when it still matched, with the version of the change
  const { resourceVersion } = object.metadata;
  return { type: "DELETED", object: { ...before, metadata: { ...before.metadata, resourceVersion } } };
}

/** Bad versions are refused before the stream begins. */
export function checkWatch({ query }: RequestTarget): void {
  const from = query.get("resourceVersion") ?? "";
  if (!/^\d*$/.test(from)) {
    throw new ApiError(
      500,
      "",
      `resourceVersion: Invalid value: "${from}": strconv.ParseUint: parsing "${from}": invalid syntax`,
    );
  }
}
