import type { NamedResource } from "./api-error.ts";

/** A kind of object that the double keeps. */
export interface Resource extends NamedResource {
  readonly version: string;
  readonly isNamespaced: boolean;
  /** a PUT without a resourceVersion overwrites whatever is there */
  readonly allowsUnconditionalUpdate: boolean;
  readonly subresources: readonly string[];
}

const namespaced = (
  group: string,
  plural: string,
  kind: string,
  subresources: readonly string[] = [],
  version = "v1",
): Resource => ({
  ...{ group, version, plural, kind, isNamespaced: true, subresources },
  allowsUnconditionalUpdate: plural !== "leases",
});
const clusterWide = (group: string, plural: string, kind: string): Resource => ({
  ...{ group, version: "v1", plural, kind, isNamespaced: false, subresources: [], allowsUnconditionalUpdate: true },
});

export const pods = namespaced("", "pods", "Pod", ["attach", "exec", "log", "portforward", "status"]);
export const configMaps = namespaced("", "configmaps", "ConfigMap");
export const networkPolicies = namespaced("networking.k8s.io", "networkpolicies", "NetworkPolicy");
export const runtimeClasses = clusterWide("node.k8s.io", "runtimeclasses", "RuntimeClass");

/** Every resource that has objects. */
export const resources: readonly Resource[] = [
  ...[pods, configMaps, networkPolicies, runtimeClasses],
  namespaced("", "secrets", "Secret"),
  namespaced("", "events", "Event"),
  namespaced("", "resourcequotas", "ResourceQuota"),
  namespaced("", "limitranges", "LimitRange"),
  namespaced("coordination.k8s.io", "leases", "Lease"),
  clusterWide("", "namespaces", "Namespace"),
  clusterWide("", "nodes", "Node"),
];

const custom = (group: string, plural: string, kind: string) => namespaced(group, plural, kind, [], "v1beta1");

export const sandboxes = custom("agents.x-k8s.io", "sandboxes", "Sandbox");
export const sandboxTemplates = custom("extensions.agents.x-k8s.io", "sandboxtemplates", "SandboxTemplate");
export const sandboxWarmPools = custom("extensions.agents.x-k8s.io", "sandboxwarmpools", "SandboxWarmPool");
export const sandboxClaims = custom("extensions.agents.x-k8s.io", "sandboxclaims", "SandboxClaim");

/** What agent-sandbox installs. */
export const customResources: readonly Resource[] = [sandboxes, sandboxTemplates, sandboxWarmPools, sandboxClaims];

/** Questions to the server: they are created and not kept. */
export const accessReviews: Resource = {
  ...clusterWide("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
};

export function findResource(
  group: string,
  version: string,
  plural: string,
  served: readonly Resource[] = resources,
): Resource | undefined {
  return [...served, accessReviews].find(
    (one) => one.group === group && one.version === version && one.plural === plural,
  );
}

export function isGroup(group: string, version: string, served: readonly Resource[] = resources): boolean {
  return [...served, accessReviews].some((one) => one.group === group && one.version === version);
}

export const apiVersion = ({ group, version }: Resource): string => (group === "" ? version : `${group}/${version}`);
