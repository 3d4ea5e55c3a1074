import { type ApiObject, isRecord } from "./api-object.ts";
import { pods, type Resource } from "./resource-table.ts";

/** Fills in what the API server fills in. Only fields that somebody reads: the real one fills in many more. */
export function withDefaults(resource: Resource, object: ApiObject): ApiObject {
  if (resource !== pods || !isRecord(object.spec)) return object;
  const { containers, ...spec } = object.spec;
  return {
    ...object,
    spec: {
      ...{ restartPolicy: "Always", terminationGracePeriodSeconds: 30, dnsPolicy: "ClusterFirst" },
      ...{ serviceAccountName: "default", schedulerName: "default-scheduler", enableServiceLinks: true },
      ...spec,
      ...(containers === undefined ? {} : { containers: withContainerDefaults(containers) }),
    },
    status: object.status ?? { phase: "Pending", qosClass: qosClass(containers) },
  };
}

function withContainerDefaults(containers: unknown): unknown {
  if (!Array.isArray(containers)) return containers;
  return containers.map((one) =>
    isRecord(one)
      ? {
          ...{ terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File" },
          imagePullPolicy: /:(?!latest$)[^/]+$/.test(String(one.image)) ? "IfNotPresent" : "Always",
          ...one,
          resources: withRequests(one.resources),
        }
      : one,
  );
}

/** Requests that are not given are the limits. */
function withRequests(resources: unknown): unknown {
  if (!isRecord(resources) || !isRecord(resources.limits)) return resources ?? {};
  return {
    ...resources,
    requests: { ...resources.limits, ...(isRecord(resources.requests) ? resources.requests : {}) },
  };
}

function qosClass(containers: unknown): string {
  const list = Array.isArray(containers)
    ? containers.map((one) => withRequests(isRecord(one) ? one.resources : {}))
    : [];
  const isGuaranteed = (one: unknown) =>
    isRecord(one) &&
    isRecord(one.limits) &&
    isRecord(one.requests) &&
    one.limits.cpu === one.requests.cpu &&
    one.limits.memory !== undefined &&
    one.limits.cpu !== undefined &&
    one.limits.memory === one.requests.memory;
  if (list.length > 0 && list.every(isGuaranteed)) return "Guaranteed";
  return list.some((one) => isRecord(one) && (one.limits !== undefined || one.requests !== undefined))
    ? "Burstable"
    : "BestEffort";
}
