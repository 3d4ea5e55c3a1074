import { type Cause, conflict, forbidden, invalid } from "./api-error.ts";
import { type ApiObject, fieldAt, isRecord } from "./api-object.ts";
import type { ObjectStore } from "./object-store.ts";
import { configMaps, pods, type Resource, runtimeClasses } from "./resource-table.ts";

/** Data of a ConfigMap, all values together. */
const maxConfigMapBytes = 1024 * 1024;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const nameRules =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
  "an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const required = (field: string, detail = ""): Cause => ({
  ...{ reason: "FieldValueRequired", field },
  message: `Required value${detail === "" ? "" : `: ${detail}`}`,
});
const wrong = (field: string, value: unknown, detail: string): Cause => ({
  ...{ reason: "FieldValueInvalid", field },
  message: `Invalid value: ${JSON.stringify(value)}: ${detail}`,
});
const isForbidden = (field: string, detail: string): Cause => ({
  ...{ reason: "FieldValueForbidden", field, message: `Forbidden: ${detail}` },
});

/** Throws what the API server refuses in a new object. */
export function checkNew(resource: Resource, object: ApiObject, store: ObjectStore): void {
  const { name, generateName } = object.metadata;
  const causes: Cause[] = [];
  if (!name && !generateName) causes.push(required("metadata.name", "name or generateName is required"));
  else if (name && (!subdomain.test(name) || name.length > 253)) causes.push(wrong("metadata.name", name, nameRules));
  if (resource === configMaps) causes.push(...configMapCauses(object));
  if (resource === pods) causes.push(...podCauses(object));
  if (causes.length > 0) throw invalid(resource, name ?? "", causes);
  if (resource === pods) admitRuntimeClass(object, store);
}

/** Throws what the API server refuses in a change. */
export function checkChange(resource: Resource, before: ApiObject, after: ApiObject): void {
  const { name, uid, resourceVersion } = after.metadata;
  if (!resourceVersion && !resource.allowsUnconditionalUpdate) {
    const message = "Invalid value: 0x0: must be specified for an update";
    // here the real server names the resource instead of its kind
    const named = { ...resource, kind: resource.plural };
    throw invalid(named, name, [{ reason: "FieldValueInvalid", message, field: "metadata.resourceVersion" }]);
  }
  if (uid && uid !== before.metadata.uid) {
    const found = `UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`;
    throw conflict(resource, name, `Precondition failed: ${found}`);
  }
  const causes: Cause[] = [];
  if (resource === configMaps) causes.push(...immutableCauses(before, after), ...configMapCauses(after));
  if (resource === pods && JSON.stringify(mutableParts(before)) !== JSON.stringify(mutableParts(after))) {
    const allowed =
      "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds` or `spec.tolerations` (only additions to existing tolerations)";
    causes.push(isForbidden("spec", allowed));
  }
  if (causes.length > 0) throw invalid(resource, name, causes);
}

/** A pod's specification without what may change. */
function mutableParts({ spec }: ApiObject): unknown {
  if (!isRecord(spec)) return spec;
  const { activeDeadlineSeconds: _, tolerations: __, ...rest } = spec;
  return rest;
}

function immutableCauses(before: ApiObject, after: ApiObject): Cause[] {
  if (before.immutable !== true) return [];
  const detail = "field is immutable when `immutable` is set";
  const changed = (["immutable", "data", "binaryData"] as const).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  );
  return changed.map((field) => isForbidden(field, detail));
}

function configMapCauses({ data, binaryData }: ApiObject): Cause[] {
  let bytes = 0;
  for (const value of Object.values(isRecord(data) ? data : {})) bytes += Buffer.byteLength(String(value));
  for (const value of Object.values(isRecord(binaryData) ? binaryData : {}))
    bytes += Buffer.from(String(value), "base64").length;
  if (bytes <= maxConfigMapBytes) return [];
  const message = `Too long: must have at most ${maxConfigMapBytes} bytes`;
  return [{ reason: "FieldValueTooLong", message, field: "[]" }];
}

function podCauses(pod: ApiObject): Cause[] {
  const containers = fieldAt(pod, "spec.containers");
  if (!Array.isArray(containers) || containers.length === 0) return [required("spec.containers")];
  const causes: Cause[] = [];
  const volumes = fieldAt(pod, "spec.volumes");
  const known = new Set((Array.isArray(volumes) ? volumes : []).map((one) => fieldAt(one, "name")));
  for (const [index, one] of containers.entries()) {
    const at = `spec.containers[${index}]`;
    if (!fieldAt(one, "name")) causes.push(required(`${at}.name`));
    if (!fieldAt(one, "image")) causes.push(required(`${at}.image`));
    const mounts = fieldAt(one, "volumeMounts");
    for (const [place, mount] of (Array.isArray(mounts) ? mounts : []).entries()) {
      const name = fieldAt(mount, "name");
      if (known.has(name)) continue;
      const field = `${at}.volumeMounts[${place}].name`;
      causes.push({ reason: "FieldValueNotFound", message: `Not found: ${JSON.stringify(name)}`, field });
    }
    const policy = fieldAt(one, "imagePullPolicy");
    if (policy !== undefined && !["Always", "IfNotPresent", "Never"].includes(String(policy))) {
      const supported = `supported values: "Always", "IfNotPresent", "Never"`;
      const message = `Unsupported value: ${JSON.stringify(policy)}: ${supported}`;
      causes.push({ reason: "FieldValueNotSupported", message, field: `${at}.imagePullPolicy` });
    }
  }
  return causes;
}

/** A pod that names a RuntimeClass which does not exist is refused at once. */
function admitRuntimeClass(pod: ApiObject, store: ObjectStore): void {
  const name = fieldAt(pod, "spec.runtimeClassName");
  if (typeof name !== "string" || store.find(runtimeClasses, "", name) !== undefined) return;
  throw forbidden(pods, pod.metadata.name, `pod rejected: RuntimeClass "${name}" not found`);
}
