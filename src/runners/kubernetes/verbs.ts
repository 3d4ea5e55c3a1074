/** What the gateways may do with one kind of object in the cells' namespace, and why. */
export interface AccessRule {
  readonly apiGroup: "" | "coordination.k8s.io" | "networking.k8s.io" | "node.k8s.io" | "extensions.agents.x-k8s.io";
  /** with its subresource, as RBAC writes it */
  readonly resource: string;
  readonly verbs: readonly string[];
  readonly use: string;
}

/**
 * The least rights that the runner needs, all in the cells' namespace. The chart, the manifests and `doctor --cluster` are tested
 * against this list. The attack: a gateway that was taken over uses its service account. So there is no exec, no secrets, no
 * update of pods, and nothing in any other namespace.
 */
export const requiredRules: readonly AccessRule[] = [
  {
    ...{ apiGroup: "", resource: "pods", verbs: ["create", "delete", "list", "watch"] },
    use: "start cells, follow them and remove them",
  },
  {
    ...{ apiGroup: "", resource: "pods/portforward", verbs: ["create", "get"] },
    use: "talk to the kernel in a cell, without the node's log",
  },
  {
    ...{ apiGroup: "", resource: "pods/attach", verbs: ["create", "get"] },
    use: "examine images and the network, and talk to cells with an OS kernel of their own",
  },
  {
    ...{ apiGroup: "", resource: "configmaps", verbs: ["create", "delete", "get", "list"] },
    use: "give cells the kernel's files",
  },
  {
    ...{ apiGroup: "coordination.k8s.io", resource: "leases" },
    ...{ verbs: ["create", "delete", "list", "update"], use: "show that a gateway is alive" },
  },
  {
    ...{ apiGroup: "networking.k8s.io", resource: "networkpolicies", verbs: ["create", "list"] },
    use: "close the network of cells, and notice policies that open it",
  },
];

/** Rights that only `codecell doctor --cluster` uses, in the same namespace. Cells run without them. */
export const optionalRules: readonly AccessRule[] = [
  { apiGroup: "", resource: "resourcequotas", verbs: ["list"], use: "tell how many cells fit into the quota" },
];

/**
 * Rights for cells from agent-sandbox's warm pools, in the same namespace. Without them codecell keeps warm pods itself. They let
 * a gateway start no pod that it could not start anyway.
 */
export const claimRules: readonly AccessRule[] = [
  {
    ...{ apiGroup: "extensions.agents.x-k8s.io", resource: "sandboxtemplates", verbs: ["create", "delete", "list"] },
    use: "say what the pods of a warm pool are like",
  },
  {
    ...{ apiGroup: "extensions.agents.x-k8s.io", resource: "sandboxwarmpools", verbs: ["create", "delete", "list"] },
    use: "have pods kept ready",
  },
  {
    ...{ apiGroup: "extensions.agents.x-k8s.io", resource: "sandboxclaims" },
    ...{ verbs: ["create", "delete", "list", "watch"], use: "take a ready pod for a cell" },
  },
];

/** The only right outside of the namespace, needed for `CODECELL_KUBERNETES_RUNTIME_CLASS` alone. Classes have no namespace. */
export const clusterRules: readonly AccessRule[] = [
  { apiGroup: "node.k8s.io", resource: "runtimeclasses", verbs: ["get"], use: "find the runtime class of the cells" },
];
