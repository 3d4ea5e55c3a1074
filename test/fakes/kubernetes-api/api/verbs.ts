import { ApiError, badRequest, expired, type Status } from "./api-error.ts";
import { type ApiObject, isRecord } from "./api-object.ts";
import { withDefaults } from "./defaults.ts";
import { type DeleteOptions, deleteObject } from "./deletion.ts";
import type { ObjectStore } from "./object-store.ts";
import type { RequestTarget } from "./request-target.ts";
import { apiVersion, pods, type Resource } from "./resource-table.ts";
import { parseSelectors } from "./selectors.ts";
import { checkChange, checkNew } from "./validation.ts";

/** An answer with a body. */
export interface Answer {
  readonly code: number;
  readonly body: ApiObject | Status | Record<string, unknown>;
}

/** Changes a new object before it is checked and stored, as a mutating webhook does. */
export type Webhook = (object: ApiObject, resource: Resource) => void;

/** Answers every verb but `watch` and those of subresources. */
export function answer(
  store: ObjectStore,
  target: RequestTarget,
  body: unknown,
  webhooks: Iterable<Webhook> = [],
): Answer {
  const { verb, resource, namespace = "", name = "", query } = target;
  switch (verb) {
    case "get":
      return { code: 200, body: store.get(resource, namespace, name) };
    case "list":
      return { code: 200, body: listed(store, target) };
    case "create":
      return { code: 201, body: created(store, target, body, webhooks) };
    case "update":
      return { code: 200, body: updated(store, target, body) };
    case "patch":
      return { code: 200, body: patched(store, target, body) };
    case "delete":
      return { code: 200, body: deleteObject(store, resource, { namespace, name }, deleteOptions(query, body)) };
    case "deletecollection":
      return { code: 200, body: deletedAll(store, target, deleteOptions(query, body)) };
    default:
      throw badRequest(`the double has no verb ${verb}`);
  }
}

function created(
  store: ObjectStore,
  { resource, namespace = "", query }: RequestTarget,
  body: unknown,
  webhooks: Iterable<Webhook>,
): ApiObject {
  const sent = withDefaults(resource, checkedBody(resource, body));
  for (const webhook of webhooks) webhook(sent, resource);
  const draft = withDefaults(resource, sent);
  const given = draft.metadata.namespace;
  if (resource.isNamespaced && given !== undefined && given !== namespace)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  if (draft.metadata.resourceVersion)
    throw new ApiError(500, "", "resourceVersion should not be set on objects to be created");
  checkNew(resource, draft, store);
  if (query.get("dryRun") === "All") return draft;
  return store.create(resource, namespace, draft);
}

function updated(store: ObjectStore, target: RequestTarget, body: unknown): ApiObject {
  const { resource, namespace = "", name = "", subresource } = target;
  const next = withDefaults(resource, checkedBody(resource, body));
  if (next.metadata.name !== name) {
    const said = `the name of the object (${next.metadata.name ?? ""}) does not match the name on the URL (${name})`;
    throw badRequest(said);
  }
  const before = store.get(resource, namespace, name);
  if (resource.isNamespaced) next.metadata.namespace = namespace;
  if (subresource === "status") {
    const resourceVersion = next.metadata.resourceVersion;
    return store.replace(resource, namespace, {
      ...before,
      metadata: { ...before.metadata, resourceVersion },
      status: next.status,
    });
  }
  checkChange(resource, before, next);
  if (resource === pods) next.status = before.status; // only the subresource changes it
  return store.replace(resource, namespace, next);
}

function patched(store: ObjectStore, target: RequestTarget, body: unknown): ApiObject {
  const { resource, namespace = "", name = "" } = target;
  const current = store.get(resource, namespace, name);
  return updated(store, target, mergePatch(current, body));
}

/** RFC 7396. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

function deletedAll(store: ObjectStore, target: RequestTarget, options: DeleteOptions): Record<string, unknown> {
  const list = listed(store, target);
  for (const { metadata } of list.items)
    deleteObject(store, target.resource, { namespace: metadata.namespace ?? "", name: metadata.name }, options);
  return list;
}

/** The version and the last key of the page before. */
interface Continue {
  readonly rv: number;
  readonly start: string;
}

function listed(store: ObjectStore, { resource, namespace, name, query }: RequestTarget) {
  const selects = parseSelectors(resource, query);
  const stored = store.list(resource, namespace);
  const all = stored.filter((one) => selects(one) && (name === undefined || one.metadata.name === name));
  const from = query.get("continue") ? parseContinue(query.get("continue") ?? "") : undefined;
  if (from !== undefined && from.rv < store.compactedTo) throw expired(continueExpired);
  const keyOf = ({ metadata }: ApiObject) => `${metadata.namespace ?? ""}/${metadata.name}`;
  const rest = from === undefined ? all : all.filter((one) => keyOf(one) > from.start);
  const limit = Number(query.get("limit") ?? 0) || Number.POSITIVE_INFINITY;
  const items = rest.slice(0, limit);
  const version = from?.rv ?? store.version;
  const last = items.at(-1);
  // The real server looks at what is stored behind a page, not at what a selector would find there.
  const isWhole = last === undefined || items.length < limit || !stored.some((one) => keyOf(one) > keyOf(last));
  const next: Continue = { rv: version, start: last === undefined ? "" : keyOf(last) };
  return {
    ...{ kind: `${resource.kind}List`, apiVersion: apiVersion(resource) },
    metadata: {
      resourceVersion: String(version),
      ...(isWhole ? {} : { continue: Buffer.from(JSON.stringify(next)).toString("base64url") }),
      ...(isWhole || query.get("labelSelector") || query.get("fieldSelector")
        ? {}
        : { remainingItemCount: rest.length - items.length }),
    },
    items: items.map(({ apiVersion: _, kind: __, ...item }) => item as ApiObject),
  };
}

const continueExpired =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.";

function parseContinue(token: string): Continue {
  try {
    return JSON.parse(Buffer.from(token, "base64url").toString()) as Continue;
  } catch {
    throw badRequest("continue key is not valid");
  }
}

function deleteOptions(query: URLSearchParams, body: unknown): DeleteOptions {
  const given = query.get("gracePeriodSeconds");
  return { ...(isRecord(body) ? body : {}), ...(given === null ? {} : { gracePeriodSeconds: Number(given) }) };
}

function checkedBody(resource: Resource, body: unknown): ApiObject {
  if (!isRecord(body)) throw badRequest("the object provided is unrecognized (must be of type object)");
  const { kind = resource.kind, apiVersion: version = apiVersion(resource), metadata = {} } = body;
  if (kind !== resource.kind || version !== apiVersion(resource)) {
    const plain = String(version).split("/").at(-1);
    const types = `(${plain}.${kind}) to (${resource.group === "" ? "core" : resource.group.split(".")[0]}.${resource.kind})`;
    const why = `converting ${types}: unknown conversion`;
    throw badRequest(`${kind} in version "${plain}" cannot be handled as a ${resource.kind}: ${why}`);
  }
  if (!isRecord(metadata)) throw badRequest("metadata is not an object");
  return {
    ...body,
    kind: resource.kind,
    apiVersion: apiVersion(resource),
    metadata: metadata as ApiObject["metadata"],
  };
}
