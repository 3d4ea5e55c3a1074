import { accessReviews, apiVersion, type Resource, resources } from "./resource-table.ts";

const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/** Answers of paths that name no resource; undefined: there is no such path. */
export function discovery(
  path: string,
  version: string,
  served: readonly Resource[] = resources,
): Record<string, unknown> | undefined {
  const all = [...served, accessReviews];
  const groups = [...new Set(all.map(({ group }) => group))].filter(Boolean);
  const groupOf = (group: string) => groupEntry(all.find((one) => one.group === group) as Resource);
  if (path === "/version") {
    const [major, minor] = version.split(".");
    return { major, minor, gitVersion: `v${version}`, platform: "linux/amd64" };
  }
  if (path === "/api") return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
  if (path === "/apis") return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupOf) };
  if (path === "/api/v1")
    return resourceList(
      "v1",
      all.filter(({ group }) => group === ""),
    );
  const [, group = "", groupVersion] = /^\/apis\/([^/]+)(?:\/(v1(?:beta1)?))?$/.exec(path) ?? [];
  if (!groups.includes(group)) return undefined;
  if (groupVersion === undefined) return { kind: "APIGroup", apiVersion: "v1", ...groupOf(group) };
  const found = all.filter((one) => one.group === group && one.version === groupVersion);
  return found.length === 0 ? undefined : resourceList(`${group}/${groupVersion}`, found);
}

function groupEntry(resource: Resource) {
  const version = { groupVersion: apiVersion(resource), version: resource.version };
  return { name: resource.group, versions: [version], preferredVersion: version };
}

function resourceList(groupVersion: string, list: readonly Resource[]) {
  const entries = list.flatMap(({ plural, kind, isNamespaced, subresources }) => [
    {
      name: plural,
      singularName: "",
      namespaced: isNamespaced,
      kind,
      verbs: plural === accessReviews.plural ? ["create"] : verbs,
    },
    ...subresources.map((one) => ({
      ...{ name: `${plural}/${one}`, singularName: "", namespaced: isNamespaced, kind, verbs: ["create", "get"] },
    })),
  ]);
  return { kind: "APIResourceList", groupVersion, resources: entries };
}
