import { parseAllDocuments } from "yaml";
import { forbidden, type NamedResource } from "./api-error.ts";
import type { RequestTarget } from "./request-target.ts";

/** A rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** Rules that somebody has, in one namespace or (undefined) in all. */
export interface Grant {
  readonly namespace: string | undefined;
  readonly rules: readonly PolicyRule[];
}

/** Somebody with a token. `grants: "everything"`: an administrator. */
export interface ApiUser {
  readonly name: string;
  readonly grants: readonly Grant[] | "everything";
}

/** What access rules look at. */
export interface Access {
  readonly verb: string;
  readonly group: string;
  /** with the subresource, such as `pods/attach` */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

export const accessOf = ({ verb, resource, subresource, namespace, name }: RequestTarget): Access => ({
  ...{ verb, group: resource.group, namespace, name },
  resource: subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`,
});

export function isAllowed({ grants }: ApiUser, access: Access): boolean {
  if (grants === "everything") return true;
  const covers = (list: readonly string[], wanted: string) => list.includes("*") || list.includes(wanted);
  return grants.some(
    ({ namespace, rules }) =>
      (namespace === undefined || namespace === access.namespace) &&
      rules.some(
        (rule) =>
          covers(rule.apiGroups, access.group) &&
          covers(rule.resources, access.resource) &&
          covers(rule.verbs, access.verb) &&
          (rule.resourceNames === undefined || (access.name !== undefined && rule.resourceNames.includes(access.name))),
      ),
  );
}

/** The refusal, in the words of the API server. */
export function accessDenied(user: ApiUser, access: Access, resource: NamedResource) {
  const where = access.namespace === undefined ? "at the cluster scope" : `in the namespace "${access.namespace}"`;
  const asked = `cannot ${access.verb} resource "${access.resource}" in API group "${access.group}" ${where}`;
  return forbidden({ ...resource, plural: resource.plural }, access.name, `User "${user.name}" ${asked}`);
}

interface Manifest {
  readonly kind?: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
  readonly rules?: readonly PolicyRule[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

/** The rights of a service account as Roles, ClusterRoles and their bindings in manifests give them. */
export function serviceAccountOf(manifests: string, name: string, namespace: string): ApiUser {
  const documents = parseAllDocuments(manifests).map((one) => one.toJS() as Manifest | null);
  const found = documents.filter((one): one is Manifest => one !== null);
  const grants = found
    .filter(({ kind, subjects = [] }) => {
      if (kind !== "RoleBinding" && kind !== "ClusterRoleBinding") return false;
      return subjects.some((one) => one.name === name && (one.namespace ?? namespace) === namespace);
    })
    .map((binding): Grant => {
      const role = found.find(
        (one) => one.kind === binding.roleRef?.kind && one.metadata?.name === binding.roleRef?.name,
      );
      const isClusterWide = binding.kind === "ClusterRoleBinding";
      return {
        namespace: isClusterWide ? undefined : (binding.metadata?.namespace ?? namespace),
        rules: role?.rules ?? [],
      };
    });
  return { name: `system:serviceaccount:${namespace}:${name}`, grants };
}
