/** One request of the list that is played against the real API server and against the double. */
export interface Step {
  readonly title: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `{uid:NAME}`, `{version:NAME}` and `{continue}` stand for what an earlier answer had */
  readonly path: string;
  /** a function gets the object that the last answer about this name had */
  readonly body?: unknown | ((last: (name: string) => Record<string, unknown>) => unknown);
  /** as whom; default: an administrator */
  readonly as?: "limited" | "nobody";
  readonly type?: string;
  /** a watch: what happens meanwhile, and how many events are awaited */
  readonly watch?: { readonly meanwhile: readonly Step[]; readonly events: number };
}

const space = "/api/v1/namespaces/cells";
const maps = `${space}/configmaps`;
const podPath = `${space}/pods`;
const leases = "/apis/coordination.k8s.io/v1/namespaces/cells/leases";
const policies = "/apis/networking.k8s.io/v1/namespaces/cells/networkpolicies";

const get = (title: string, path: string, other: Partial<Step> = {}): Step => ({
  title,
  method: "GET",
  path,
  ...other,
});
const post = (title: string, path: string, body: unknown, other: Partial<Step> = {}): Step => ({
  ...{ title, method: "POST", path, body, ...other },
});
const put = (title: string, path: string, body: Step["body"]): Step => ({ title, method: "PUT", path, body });
const remove = (title: string, path: string, body?: unknown): Step => ({
  ...{ title, method: "DELETE", path, ...(body === undefined ? {} : { body }) },
});

const map = (name: string, data: Record<string, string>, labels: Record<string, string> = {}) => ({
  ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels }, data },
});
const lease = (name: string, holder: string) => ({
  ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name } },
  spec: { holderIdentity: holder, leaseDurationSeconds: 30 },
});
const pod = (name: string, spec: Record<string, unknown> = {}, container: Record<string, unknown> = {}) => ({
  ...{ apiVersion: "v1", kind: "Pod", metadata: { name, labels: { app: "cell" } } },
  spec: { restartPolicy: "Never", containers: [{ name: "main", image: "x:1", ...container }], ...spec },
});
/** The last answer about an object, with a change. */
const changed =
  (name: string, change: (object: Record<string, unknown>) => void) =>
  (last: (name: string) => Record<string, unknown>): unknown => {
    const object = structuredClone(last(name));
    change(object);
    return object;
  };
const metadataOf = (object: Record<string, unknown>) => object.metadata as Record<string, unknown>;

const objects: readonly Step[] = [
  post("creates an object", maps, map("a", { key: "1" }, { app: "x", tier: "one" })),
  post("refuses a name that is taken", maps, map("a", { key: "2" })),
  get("does not find an object", `${maps}/missing`),
  get("does not find an object of a group", `${leases}/missing`),
  post("refuses a name with capitals", maps, map("Bad_Name", {})),
  post("refuses an object without a name", maps, { apiVersion: "v1", kind: "ConfigMap", metadata: {} }),
  post("refuses another kind", maps, lease("odd", "x")),
  post("refuses a new object with a version", maps, { ...map("b", {}), metadata: { name: "b", resourceVersion: "1" } }),
  post("refuses a map that is too large", maps, map("large", { key: "x".repeat(1024 * 1024 + 1) })),
  post("refuses what is not JSON", maps, "{ nonsense"),
  put(
    "changes an object",
    `${maps}/a`,
    changed("a", (object) => Object.assign(object, { data: { key: "3" } })),
  ),
  put(
    "does not write what changes nothing",
    `${maps}/a`,
    changed("a", () => {}),
  ),
  put(
    "refuses a stale version",
    `${maps}/a`,
    changed("a", (object) => Object.assign(metadataOf(object), { resourceVersion: "7" })),
  ),
  put("takes a map without a version", `${maps}/a`, map("a", { key: "4" }, { app: "x", tier: "one" })),
  put("refuses another name than the path's", `${maps}/a`, map("other", {})),
  put("does not find what it would change", `${maps}/missing`, map("missing", {})),
  {
    ...put("merges a patch", `${maps}/a`, { data: { more: "5" } }),
    method: "PATCH",
    type: "application/merge-patch+json",
  },
  post("creates an immutable map", maps, { ...map("fixed", { key: "1" }), immutable: true }),
  put(
    "refuses to change an immutable map",
    `${maps}/fixed`,
    changed("fixed", (object) => Object.assign(object, { data: { key: "2" } })),
  ),
  post("creates a lease", leases, lease("l", "one")),
  put(
    "renews a lease",
    `${leases}/l`,
    changed("l", (object) => Object.assign(object.spec as object, { holderIdentity: "two" })),
  ),
  put(
    "refuses a stale renewal",
    `${leases}/l`,
    changed("l", (object) => Object.assign(metadataOf(object), { resourceVersion: "7" })),
  ),
  put("refuses a renewal without a version", `${leases}/l`, lease("l", "three")),
];

const lists: readonly Step[] = [
  post("creates a second map", maps, map("b", { key: "1" }, { app: "x", tier: "two" })),
  get("lists by a label", `${maps}?labelSelector=${encodeURIComponent("app=x")}`),
  get(
    "lists by labels and sets",
    `${maps}?labelSelector=${encodeURIComponent("app in (x,y),tier notin (one),!gone,tier")}`,
  ),
  get("lists by what a label is not", `${maps}?labelSelector=${encodeURIComponent("app!=x")}`),
  get("lists by name", `${maps}?fieldSelector=${encodeURIComponent("metadata.name=b")}`),
  get("refuses an unknown field", `${maps}?fieldSelector=${encodeURIComponent("data.key=b")}`),
  get("lists a first page", `${maps}?limit=1&labelSelector=${encodeURIComponent("app=x")}`),
  get("lists the next page", `${maps}?limit=1&labelSelector=${encodeURIComponent("app=x")}&continue={continue}`),
  get("lists a page and counts the rest", `${leases}?limit=1`),
];

const deletions: readonly Step[] = [
  remove("refuses to delete another uid", `${maps}/b`, {
    preconditions: { uid: "00000000-0000-0000-0000-000000000000" },
  }),
  remove("refuses to delete another version", `${maps}/b`, { preconditions: { resourceVersion: "7" } }),
  remove("deletes the uid that it names", `${maps}/b`, { preconditions: { uid: "{uid:b}" } }),
  remove("does not find what it would delete", `${maps}/b`),
  remove("deletes a lease", `${leases}/l`),
  post("creates a policy", policies, {
    ...{ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name: "closed" } },
    spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
  }),
  remove("deletes a policy", `${policies}/closed`),
  remove("deletes all with a label", `${maps}?labelSelector=${encodeURIComponent("app=x")}`),
];

const podSteps: readonly Step[] = [
  post("refuses a pod without containers", podPath, pod("none", { containers: [] })),
  post("refuses a mount without a volume", podPath, pod("m", {}, { volumeMounts: [{ name: "v", mountPath: "/v" }] })),
  post("refuses an unknown pull policy", podPath, pod("p", {}, { imagePullPolicy: "Sometimes" })),
  post("refuses an unknown runtime class", podPath, pod("r", { runtimeClassName: "no-such" })),
  post("creates a pod", podPath, pod("waiting")),
  get("refuses to attach before a pod has a node", `${podPath}/waiting/attach?stdout=true`),
  put(
    "refuses to change a pod's command",
    `${podPath}/waiting`,
    changed("waiting", (object) => {
      const [container] = (object.spec as { containers: Record<string, unknown>[] }).containers;
      Object.assign(container as object, { command: ["other"] });
    }),
  ),
  remove("deletes a pod without a node at once", `${podPath}/waiting`),
  get("does not find the pod", `${podPath}/waiting`),
  post("creates a pod on a node", podPath, pod("placed", { nodeName: "node-a", terminationGracePeriodSeconds: 5 })),
  remove("refuses to delete another pod of that name", `${podPath}/placed`, {
    preconditions: { uid: "00000000-0000-0000-0000-000000000000" },
  }),
  remove("marks a pod that may run", `${podPath}/placed`),
  get("still finds the pod", `${podPath}/placed`),
  remove("marks it only once", `${podPath}/placed`),
  remove("forgets it by force", `${podPath}/placed`, { gracePeriodSeconds: 0 }),
  get("does not find it any more", `${podPath}/placed`),
];

const rights: readonly Step[] = [
  get("refuses an unknown token", podPath, { as: "nobody" }),
  get("lets a user do what is granted", podPath, { as: "limited" }),
  post("refuses a verb that is not granted", podPath, pod("x"), { as: "limited" }),
  get("refuses a subresource that is not granted", `${podPath}/x/attach`, { as: "limited" }),
  get("refuses a group that is not granted", `${leases}/x`, { as: "limited" }),
  get("refuses all namespaces", "/api/v1/pods", { as: "limited" }),
  get("refuses the cluster's objects", "/apis/node.k8s.io/v1/runtimeclasses/gvisor", { as: "limited" }),
  post("answers what a user may do", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review("list"), {
    as: "limited",
  }),
  post("answers what a user may not do", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review("delete"), {
    as: "limited",
  }),
  get("does not know a path", "/apis/nothing.example/v1/things"),
  get("does not know a resource", `${space}/things`),
  get("does not find a runtime class", "/apis/node.k8s.io/v1/runtimeclasses/gvisor"),
];

function review(verb: string) {
  const resourceAttributes = { namespace: "cells", verb, resource: "pods" };
  return { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
}

const watches: readonly Step[] = [
  get(
    "shows what is there before it watches",
    `${maps}?watch=true&labelSelector=${encodeURIComponent("watched=first")}`,
    {
      watch: {
        events: 4,
        meanwhile: [
          post("creates what is watched", maps, map("w", { key: "1" }, { watched: "first" })),
          put("changes what is watched", `${maps}/w`, map("w", { key: "2" }, { watched: "first" })),
          put("takes the label away", `${maps}/w`, map("w", { key: "3" }, { watched: "other" })),
          put("gives the label back", `${maps}/w`, map("w", { key: "4" }, { watched: "first" })),
        ],
      },
    },
  ),
  get("resumes after a version", `${maps}?watch=true&resourceVersion={version:w}`, {
    watch: { events: 1, meanwhile: [remove("deletes what is watched", `${maps}/w`)] },
  }),
  get("cannot resume from a version that is forgotten", `${maps}?watch=true&resourceVersion=2`, {
    watch: { events: 1, meanwhile: [] },
  }),
  get("refuses a version that is no number", `${maps}?watch=true&resourceVersion=soon`),
];

/** All requests, in the order in which they are played. */
export const steps: readonly Step[] = [...objects, ...lists, ...deletions, ...podSteps, ...rights, ...watches];
