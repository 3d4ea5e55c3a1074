import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { alreadyExists, conflict, notFound } from "./api-error.ts";
import { type ApiObject, timestamp } from "./api-object.ts";
import { apiVersion, type Resource } from "./resource-table.ts";

/** A change of one object. All changes of all objects have one order. */
export interface Change {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly resource: Resource;
  readonly object: ApiObject;
  /** as it was before; absent: it is new */
  readonly before?: ApiObject;
}

type Listener = (change: Change) => void;

const modified = "the object has been modified; please apply your changes to the latest version and try again";

/** All objects and their history, as etcd has them for the API server. Objects that it hands out are copies. */
export class ObjectStore {
  readonly #objects = new Map<string, ApiObject>();
  readonly #listeners = new Set<Listener>();
  #history: Change[] = [];
  #version: number;
  #compactedTo: number;

  constructor(firstVersion = 1) {
    this.#version = firstVersion;
    this.#compactedTo = firstVersion;
  }

  get version(): number {
    return this.#version;
  }

  /** Changes up to this version are forgotten. */
  get compactedTo(): number {
    return this.#compactedTo;
  }

  /** Forgets every change up to now: watches cannot resume from before. */
  compact(): void {
    this.#compactedTo = this.#version;
    this.#history = [];
  }

  changesAfter(version: number): readonly Change[] {
    return this.#history.filter((change) => change.version > version);
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  find(resource: Resource, namespace: string, name: string): ApiObject | undefined {
    const found = this.#objects.get(keyOf(resource, namespace, name));
    return found === undefined ? undefined : structuredClone(found);
  }

  get(resource: Resource, namespace: string, name: string): ApiObject {
    const found = this.find(resource, namespace, name);
    if (found === undefined) throw notFound(resource, name);
    return found;
  }

  /** In the order of their keys. `namespace` undefined: of all namespaces. */
  list(resource: Resource, namespace: string | undefined): readonly ApiObject[] {
    const prefix = `${resource.group}/${resource.plural}/${namespace === undefined ? "" : `${namespace}/`}`;
    const keys = [...this.#objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    return keys.map((key) => structuredClone(this.#objects.get(key) as ApiObject));
  }

  create(resource: Resource, namespace: string, draft: ApiObject): ApiObject {
    const given = draft.metadata;
    const name = given.name ?? `${given.generateName ?? ""}${randomUUID().slice(0, 5)}`;
    const key = keyOf(resource, namespace, name);
    if (this.#objects.has(key)) throw alreadyExists(resource, name);
    const object: ApiObject = {
      ...structuredClone(draft),
      ...{ apiVersion: apiVersion(resource), kind: resource.kind },
      metadata: {
        ...structuredClone(given),
        ...{ name, uid: randomUUID(), creationTimestamp: timestamp(), resourceVersion: "" },
        ...(resource.isNamespaced ? { namespace } : {}),
      },
    };
    // the real server forgets empty maps
    if (Object.keys(object.metadata.labels ?? {}).length === 0) delete object.metadata.labels;
    return this.#write("ADDED", resource, key, object);
  }

  /** Writes an object if nobody has changed it since the version that it carries. */
  replace(resource: Resource, namespace: string, next: ApiObject): ApiObject {
    const { name, resourceVersion } = next.metadata;
    const current = this.get(resource, namespace, name);
    if (resourceVersion && resourceVersion !== current.metadata.resourceVersion)
      throw conflict(resource, name, modified);
    const { uid, creationTimestamp } = current.metadata;
    const object = structuredClone(next);
    object.metadata = { ...object.metadata, uid, creationTimestamp, resourceVersion: current.metadata.resourceVersion };
    // what changes nothing is not written
    if (isDeepStrictEqual(object, current)) return current;
    return this.#write("MODIFIED", resource, keyOf(resource, namespace, name), object);
  }

  /** Changes an object if it is still there: how controllers and kubelets write. */
  update(
    resource: Resource,
    namespace: string,
    name: string,
    change: (object: ApiObject) => void,
  ): ApiObject | undefined {
    const found = this.find(resource, namespace, name);
    if (found === undefined) return undefined;
    change(found);
    return this.replace(resource, namespace, found);
  }

  remove(resource: Resource, namespace: string, name: string): ApiObject {
    const key = keyOf(resource, namespace, name);
    const object = this.get(resource, namespace, name);
    return this.#write("DELETED", resource, key, object);
  }

  #write(type: Change["type"], resource: Resource, key: string, object: ApiObject): ApiObject {
    const before = this.#objects.get(key);
    this.#version += 1;
    object.metadata.resourceVersion = String(this.#version);
    if (type === "DELETED") this.#objects.delete(key);
    else this.#objects.set(key, structuredClone(object));
    const kept = structuredClone(object);
    const change = {
      version: this.#version,
      type,
      resource,
      object: kept,
      ...(before === undefined ? {} : { before }),
    };
    this.#history.push(change);
    for (const listener of [...this.#listeners]) listener(change);
    return object;
  }
}

const keyOf = ({ group, plural, isNamespaced }: Resource, namespace: string, name: string): string =>
  `${group}/${plural}/${isNamespaced ? `${namespace}/` : ""}${name}`;
