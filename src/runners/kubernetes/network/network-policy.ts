import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ClusterApi } from "../client/cluster-api.ts";
import { closedLabel, managedBy } from "../labels.ts";

export const policyName = "codecell-no-network";

/** Pure: the policy that closes the network of every pod with the label of cells. It has no rule, so it allows nothing. */
export function closedPolicy() {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: policyName, labels: { ...managedBy } },
    spec: { podSelector: { matchLabels: { ...closedLabel } }, policyTypes: ["Ingress", "Egress"] },
  };
}

const selectorSchema = z.object({
  matchLabels: z.record(z.string(), z.string()).nullish(),
  matchExpressions: z
    .array(z.object({ key: z.string(), operator: z.string(), values: z.array(z.string()).nullish() }))
    .nullish(),
});

const policySchema = z.object({
  metadata: z.object({ name: z.string(), uid: z.string().catch(""), generation: z.number().catch(0) }),
  spec: z.object({
    podSelector: selectorSchema.catch({}),
    policyTypes: z.array(z.string()).nullish(),
    ingress: z.array(z.unknown()).nullish(),
    egress: z.array(z.unknown()).nullish(),
  }),
});

export type FoundPolicy = z.output<typeof policySchema>;

/** Whether the closing policy is there, and which others open what it closes: policies of a namespace add up. */
export interface PolicyState {
  readonly isClosed: boolean;
  /** of the closing policy: another one after each change, also if that was undone. Undefined: it does not exist */
  readonly identity: string | undefined;
  readonly openedBy: readonly string[];
}

/** Pure: what a namespace's policies mean for a pod with these labels. */
export function policyState(policies: readonly FoundPolicy[], labels: Readonly<Record<string, string>>): PolicyState {
  const selecting = policies.filter(({ spec }) => selects(spec.podSelector, labels));
  const isClosed = selecting.some(
    ({ metadata, spec }) =>
      metadata.name === policyName && ["Ingress", "Egress"].every((type) => spec.policyTypes?.includes(type)),
  );
  const openedBy = selecting
    .filter(({ spec }) => (spec.ingress?.length ?? 0) + (spec.egress?.length ?? 0) > 0)
    .map(({ metadata }) => metadata.name);
  const closing = policies.find(({ metadata }) => metadata.name === policyName)?.metadata;
  return { isClosed, openedBy, identity: closing && `${closing.uid}/${closing.generation}` };
}

type Selector = z.output<typeof selectorSchema>;

function selects({ matchLabels, matchExpressions }: Selector, labels: Readonly<Record<string, string>>): boolean {
  return (
    Object.entries(matchLabels ?? {}).every(([key, value]) => labels[key] === value) &&
    (matchExpressions ?? []).every(({ key, operator, values }) => {
      const value = labels[key];
      switch (operator) {
        case "In":
          return value !== undefined && values?.includes(value) === true;
        case "NotIn":
          return value === undefined || values?.includes(value) !== true;
        case "Exists":
          return value !== undefined;
        case "DoesNotExist":
          return value === undefined;
        default:
          return true; // unknown: assume that it selects, which can only lead to a refusal
      }
    })
  );
}

/** The policies of the namespace. */
export async function listPolicies(api: ClusterApi): Promise<FoundPolicy[]> {
  const request = { verb: "list", resource: "networkpolicies", path: api.path("networkpolicies") } as const;
  const list = await api.json(request).catch((error: unknown) => {
    throw api.explain(error, request);
  });
  return z.object({ items: z.array(policySchema) }).parse(list).items;
}

/** Throws if policies open a pod with these labels, of which some may be others than codecell's. */
export async function refuseOpened(api: ClusterApi, labels: Readonly<Record<string, string>>): Promise<void> {
  const { openedBy } = policyState(await listPolicies(api), labels);
  if (openedBy.length === 0) return;
  const message = `these NetworkPolicies open the network of the pod, by labels that codecell did not give it: ${openedBy.join(", ")}`;
  throw new CodecellError("cell_start_failed", message, {
    hint: "exclude pods with the label codecell/network=none from them",
  });
}

/** Creates the closing policy, unless the operator or another gateway did. */
export async function createPolicy(api: ClusterApi): Promise<void> {
  const path = api.path("networkpolicies");
  const request = { verb: "create", resource: "networkpolicies", path, body: closedPolicy() } as const;
  await api.json(request).catch((error: unknown) => {
    if (!(error instanceof ApiRefusal && error.status === 409)) throw api.explain(error, request);
  });
}
