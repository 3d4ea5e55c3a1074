import { z } from "zod";
import { type AccessRule, clusterRules, optionalRules, requiredRules } from "../verbs.ts";
import type { ClusterCheck, ClusterQuestions } from "./cluster-check.ts";

/** One verb on one kind of object. */
interface Right extends Pick<AccessRule, "apiGroup" | "resource"> {
  readonly verb: string;
  /** outside of the cells' namespace */
  readonly isClusterWide?: boolean;
}

const review = z.object({ status: z.object({ allowed: z.boolean() }) });

/** Asks for each right that the runner needs. Every account may ask what itself may do. */
export async function rightsCheck(api: ClusterQuestions, needsRuntimeClass: boolean): Promise<ClusterCheck> {
  const required = [
    ...requiredRules.flatMap(rightsOf),
    ...(needsRuntimeClass ? clusterRules.flatMap(clusterWide) : []),
  ];
  const optional = optionalRules.flatMap(rightsOf);
  const [missing, unused] = await Promise.all([refusedOf(api, required), refusedOf(api, optional)]);
  const facts = { missing: missing.map(rightText), missing_optional: unused.map(rightText) };
  if (missing.length > 0) {
    const fix = roleText([...requiredRules, ...clusterRules], missing, api.namespace);
    return { name: "rights", state: "missing", finding: `missing: ${facts.missing.join(", ")}`, fix, facts };
  }
  if (unused.length > 0) {
    const fix = roleText(optionalRules, unused, api.namespace);
    return {
      name: "rights",
      state: "warning",
      finding: `only for this command, missing: ${facts.missing_optional.join(", ")}`,
      fix,
      facts,
    };
  }
  return {
    name: "rights",
    state: "ok",
    finding: `all ${required.length + optional.length} that codecell needs`,
    facts,
  };
}

/** Which of these rights are missing in the cells' namespace, and what to add to the Role. */
export async function missingRights(
  api: ClusterQuestions,
  rules: readonly AccessRule[],
): Promise<{ readonly missing: readonly string[]; readonly fix: string }> {
  const missing = await refusedOf(api, rules.flatMap(rightsOf));
  return { missing: missing.map(rightText), fix: roleText(rules, missing, api.namespace) };
}

/** The attack: a gateway that was taken over uses rights that it never needed. */
const dangerous: readonly Right[] = [
  { apiGroup: "", resource: "secrets", verb: "get" },
  { apiGroup: "", resource: "pods/exec", verb: "create" },
  { apiGroup: "", resource: "pods", verb: "create", isClusterWide: true },
  { apiGroup: "" as const, resource: "serviceaccounts/token", verb: "create" },
];

export async function otherRightsCheck(api: ClusterQuestions): Promise<ClusterCheck> {
  const answers = await Promise.all(
    dangerous.map(async (right) => ({ right, isAllowed: await isAllowed(api, right) })),
  );
  const allowed = answers.filter(({ isAllowed }) => isAllowed).map(({ right }) => rightText(right));
  const facts = { allowed };
  if (allowed.length === 0)
    return { name: "other rights", state: "ok", finding: "none that would be dangerous", facts };
  const fix =
    "give the gateways a service account of their own with the Role of deploy/manifests; if these are your own credentials, ignore this";
  return {
    name: "other rights",
    state: "warning",
    finding: `these credentials may also ${allowed.join(", ")}`,
    fix,
    facts,
  };
}

function rightsOf({ apiGroup, resource, verbs }: AccessRule): Right[] {
  return verbs.map((verb) => ({ apiGroup, resource, verb }));
}

function clusterWide(rule: AccessRule): Right[] {
  return rightsOf(rule).map((right) => ({ ...right, isClusterWide: true }));
}

async function refusedOf(api: ClusterQuestions, rights: readonly Right[]): Promise<Right[]> {
  const answers = await Promise.all(rights.map(async (right) => ({ right, isAllowed: await isAllowed(api, right) })));
  return answers.filter(({ isAllowed }) => !isAllowed).map(({ right }) => right);
}

async function isAllowed(api: ClusterQuestions, { apiGroup, resource, verb, isClusterWide }: Right): Promise<boolean> {
  const [kind, subresource] = resource.split("/");
  const attributes = {
    ...{ group: apiGroup, resource: kind, verb },
    ...(subresource === undefined ? {} : { subresource }),
    ...(isClusterWide ? {} : { namespace: api.namespace }),
  };
  const answer = await api.json({
    ...{ verb: "create", resource: "selfsubjectaccessreviews" },
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: {
      ...{ apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview" },
      spec: { resourceAttributes: attributes },
    },
  });
  return review.parse(answer).status.allowed;
}

function rightText({ resource, verb, isClusterWide }: Right): string {
  return `${verb} ${resource}${isClusterWide && resource === "pods" ? " in every namespace" : ""}`;
}

/** Pure: the rules to add, one per kind of object, as a Role has them. */
function roleText(rules: readonly AccessRule[], missing: readonly Right[], namespace: string): string {
  const lines = rules.flatMap(({ apiGroup, resource, use }) => {
    const verbs = missing.filter((right) => right.resource === resource).map(({ verb }) => verb);
    if (verbs.length === 0) return [];
    return [`{apiGroups: ["${apiGroup}"], resources: [${resource}], verbs: [${verbs.join(", ")}]} to ${use}`];
  });
  const isCluster = missing.every(({ isClusterWide }) => isClusterWide);
  const where = isCluster ? "to a ClusterRole of the service account" : `to its Role in ${namespace}`;
  return `add ${where}: ${lines.join("; ")}`;
}
