import { liveRules } from "../../policy/change/live-rules.ts";
import { type PolicyChange, policyChanges } from "../../policy/change/merge.ts";
import { mergeRules } from "../../policy/change/merge-rules.ts";
import type { PolicyFieldName } from "../../policy/rules.ts";
import type { Policy } from "../../policy/schema.ts";

/** The result of a policy reload. */
export interface PolicyReload {
  readonly changes: readonly PolicyChange[];
  /** changed rules that apply only after a restart of this process */
  readonly later: readonly PolicyFieldName[];
}

/** Pure: the current policy with the live rules of the next one. Cells that started without a network get none. */
export function reloadedPolicy(
  { started, current }: { started: Policy; current: Policy },
  next: Policy,
): PolicyReload & { readonly policy: Policy } {
  const wanted = policyChanges(current, next);
  const isLater = ({ rule }: PolicyChange) =>
    !liveRules.has(rule) || (rule === "net.enabled" && next.net.enabled && !started.net.enabled);
  const changes = wanted.filter((change) => !isLater(change));
  const { net, overrides } = next;
  return {
    policy: changes.reduce((policy, { rule }) => mergeRules[rule].apply(policy, { net }), { ...current, overrides }),
    changes,
    later: wanted.filter(isLater).map(({ rule }) => rule),
  };
}
