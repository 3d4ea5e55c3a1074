import { conflict, type Status } from "./api-error.ts";
import { type ApiObject, fieldAt, timestamp } from "./api-object.ts";
import type { ObjectStore } from "./object-store.ts";
import { pods, type Resource } from "./resource-table.ts";

/** What a client asks of a deletion. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

const defaultGraceSeconds = 30;

/** Deletes an object, or marks a pod that is still running for its kubelet. */
export function deleteObject(
  store: ObjectStore,
  resource: Resource,
  { namespace, name }: { namespace: string; name: string },
  options: DeleteOptions,
): ApiObject | Status {
  const found = store.get(resource, namespace, name);
  checkPreconditions(resource, found, options);
  if (resource !== pods) {
    store.remove(resource, namespace, name);
    const { group, plural: kind } = resource;
    const details = { name, ...(group === "" ? {} : { group }), kind, uid: found.metadata.uid };
    return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
  }
  const graceSeconds = graceOf(found, options);
  if (graceSeconds === 0) return marked(store.remove(resource, namespace, name), 0);
  const { deletionGracePeriodSeconds: before } = found.metadata;
  if (before !== undefined && before <= graceSeconds) return found; // it can only become shorter
  return store.replace(resource, namespace, marked(found, graceSeconds));
}

function marked(pod: ApiObject, graceSeconds: number): ApiObject {
  pod.metadata.deletionTimestamp = timestamp(Date.now() + graceSeconds * 1000);
  pod.metadata.deletionGracePeriodSeconds = graceSeconds;
  return pod;
}

function checkPreconditions(resource: Resource, { metadata }: ApiObject, { preconditions = {} }: DeleteOptions): void {
  const { uid, resourceVersion: version } = preconditions;
  const named = { group: "", plural: resource.kind, kind: resource.kind }; // here the real server names the kind
  if (uid !== undefined && uid !== metadata.uid) {
    const differs = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid})`;
    const why = `${differs}. The object might have been deleted and then recreated`;
    throw conflict(named, metadata.name, why);
  }
  if (version !== undefined && version !== metadata.resourceVersion) {
    const known = `does not match the ResourceVersion in record (${metadata.resourceVersion})`;
    const why = `the ResourceVersion in the precondition (${version}) ${known}. The object might have been modified`;
    throw conflict(named, metadata.name, why);
  }
}

/** A pod that never came to a node, or whose containers have exited, needs no grace. */
function graceOf(pod: ApiObject, { gracePeriodSeconds }: DeleteOptions): number {
  const phase = fieldAt(pod, "status.phase");
  if (!fieldAt(pod, "spec.nodeName") || phase === "Succeeded" || phase === "Failed") return 0;
  const own = fieldAt(pod, "spec.terminationGracePeriodSeconds");
  return gracePeriodSeconds ?? (typeof own === "number" ? own : defaultGraceSeconds);
}
