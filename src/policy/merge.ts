import { CodecellError } from "../lib/errors.ts";
import { checkPolicy } from "./check-policy.ts";
import { inconsistencies } from "./consistency.ts";
import { mergeRules } from "./merge-rules.ts";
import { policyInvalid, rulePath } from "./problem.ts";
import { type PolicyFieldName, showRule } from "./rules.ts";
import { overrideSchema, type Policy, type PolicyOverride, type PolicyPatch } from "./schema.ts";

/** Who asks: the program that embeds codecell, or the model whose code it runs. */
export type Authority = "host" | "model";

/** One rule that an override changed, with the values as people write them. */
export interface PolicyChange {
  readonly rule: PolicyFieldName;
  readonly from: string;
  readonly to: string;
  readonly direction: "narrower" | "wider";
}

/** One rule that an override may not change so far. */
export interface RefusedChange {
  readonly rule: PolicyFieldName;
  readonly asked: string;
  readonly limit: string;
}

/**
 * Applies an override, rule by rule; a list replaces the policy's list. A host program goes as far as the policy's
 * `overrides.ceiling`, a model only narrows. Pure: the same arguments give the same answer.
 */
export function mergePolicy(
  base: Policy,
  override: PolicyOverride,
  authority: Authority,
): { policy: Policy; changes: PolicyChange[] } {
  const patch = parseOverride(override);
  const changes: PolicyChange[] = [];
  const refused: RefusedChange[] = [];
  let policy = base;
  for (const [name, rule] of Object.entries(mergeRules)) {
    const field = name as PolicyFieldName;
    if (!rule.isIn(patch)) continue;
    const next = rule.apply(policy, patch);
    const isNarrower = rule.narrows(next, base);
    const isUnchanged = isNarrower && rule.narrows(base, next);
    if (isUnchanged) continue;
    const isAllowed = isNarrower || (authority === "host" && rule.allowsHost(next, base, base.overrides.ceiling));
    if (!isAllowed) refused.push({ rule: field, asked: showRule(next, field), limit: limitOf(base, field, authority) });
    const direction = isNarrower ? "narrower" : "wider";
    changes.push({ rule: field, from: showRule(base, field), to: showRule(next, field), direction });
    policy = next;
  }
  if (refused.length > 0) throw overrideRefused(refused, authority);
  refuseContradictions(policy);
  return { policy, changes };
}

function parseOverride(override: unknown): PolicyPatch {
  const checked = checkPolicy(overrideSchema, override, ["overrides", "ceiling"], {});
  if ("value" in checked) return checked.value;
  throw policyInvalid(
    checked.problems.map(({ path, message, suggestion }) => ({ rule: rulePath(path.slice(2)), message, suggestion })),
  );
}

function limitOf(base: Policy, field: PolicyFieldName, authority: Authority): string {
  const rule = mergeRules[field];
  const { ceiling } = base.overrides;
  return showRule(authority === "host" && rule.isIn(ceiling) ? rule.apply(base, ceiling) : base, field);
}

function overrideRefused(refused: readonly RefusedChange[], authority: Authority): CodecellError {
  const limit = authority === "host" ? "the ceiling is" : "a model may only narrow";
  const message = refused.map(({ rule, asked, limit: value }) => `${rule}: ${asked} was asked for, ${limit} ${value}`);
  const hint =
    authority === "host"
      ? `raise overrides.ceiling.${refused[0]?.rule} in the policy, or ask for less`
      : "ask for no more than the policy gives";
  return new CodecellError("override_refused", message.join("\n"), { hint, details: { authority, refused } });
}

/** An override may be within every limit and still not fit the rest, such as a minimum above the runner that is set. */
function refuseContradictions(policy: Policy): void {
  const problems = inconsistencies(policy).map(({ path, message }) => ({ rule: rulePath(path), message }));
  if (problems.length === 0) return;
  const message = problems.map(({ rule, message }) => `${rule}: ${message}`).join("\n");
  throw new CodecellError("override_refused", message, {
    hint: "change both rules, or neither",
    details: { problems },
  });
}
