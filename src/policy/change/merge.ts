import { CodecellError } from "../../lib/errors.ts";
import { inconsistencies } from "../consistency.ts";
import { checkPolicy } from "../file/check-policy.ts";
import { copyPlain } from "../file/plain-copy.ts";
import { policyInvalid, rulePath } from "../file/problem.ts";
import { type PolicyFieldName, showRule } from "../rules.ts";
import { overrideSchema, type Policy, type PolicyOverride, type PolicyPatch, runnerNames } from "../schema.ts";
import { mergeRules } from "./merge-rules.ts";

/** Who requests a change: the program that embeds codecell, a caller of its service, or the model whose code runs. */
export type Authority = "host" | "caller" | "model";

/** One rule that an override changed, with the values as people write them. */
export interface PolicyChange {
  readonly rule: PolicyFieldName;
  readonly from: string;
  readonly to: string;
  readonly direction: "narrower" | "wider";
}

/** One rule that an override may not change that far. */
export interface RefusedChange {
  readonly rule: PolicyFieldName;
  readonly asked: string;
  readonly limit: string;
}

/** Every rule that differs between two policies. */
export function policyChanges(from: Policy, to: Policy): PolicyChange[] {
  return Object.entries(mergeRules).flatMap(([name, rule]) => {
    const field = name as PolicyFieldName;
    const isNarrower = rule.narrows(to, from);
    if (isNarrower && rule.narrows(from, to)) return [];
    const direction = isNarrower ? ("narrower" as const) : ("wider" as const);
    return [{ rule: field, from: showRule(from, field), to: showRule(to, field), direction }];
  });
}

/**
 * Pure: applies an override, rule by rule; a list replaces the policy's list. A host program may widen up to the policy's
 * `overrides.ceiling`; callers and models may only narrow.
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

/**
 * The same for an override that was allowed under an older policy. Where the new policy permits less, the result is what
 * both permit. It refuses nothing, and is never wider than `mergePolicy` would allow.
 */
export function settlePolicy(base: Policy, override: PolicyOverride, authority: Authority): Policy {
  const patch = parseOverride(override);
  return Object.values(mergeRules).reduce((policy, rule) => {
    if (!rule.isIn(patch)) return policy;
    const next = rule.apply(policy, patch);
    if (rule.narrows(next, base)) return next;
    const isAllowed = authority === "host" && rule.allowsHost(next, base, base.overrides.ceiling);
    return isAllowed ? next : rule.meet(next, base);
  }, base);
}

function parseOverride(override: unknown): PolicyPatch {
  const named = onlyRunner(override);
  if (named) return named;
  const checked = checkPolicy(overrideSchema(), override, ["overrides", "ceiling"], {});
  if ("value" in checked) return checked.value;
  throw policyInvalid(
    checked.problems.map(({ path, message, suggestion }) => ({ rule: rulePath(path.slice(2)), message, suggestion })),
  );
}

/** `--runner` alone needs no schema, which takes long to build. Looks at a copy, because an object can run code when it is read. */
export function onlyRunner(override: unknown): PolicyPatch | undefined {
  const { value, problems } = copyPlain(override);
  const isolation = problems.length === 0 ? onlyValue(value, "isolation") : undefined;
  const runner = onlyValue(isolation, "runner");
  const known = (["auto", ...runnerNames] as const).find((name) => name === runner);
  return known === undefined ? undefined : { isolation: { runner: known } };
}

function onlyValue(object: unknown, key: string): unknown {
  if (typeof object !== "object" || object === null) return undefined;
  const keys = Object.keys(object);
  return keys.length === 1 && keys[0] === key ? (object as Record<string, unknown>)[key] : undefined;
}

function limitOf(base: Policy, field: PolicyFieldName, authority: Authority): string {
  const rule = mergeRules[field];
  const { ceiling } = base.overrides;
  return showRule(authority === "host" && rule.isIn(ceiling) ? rule.apply(base, ceiling) : base, field);
}

function overrideRefused(refused: readonly RefusedChange[], authority: Authority): CodecellError {
  const limit = authority === "host" ? "the ceiling is" : `a ${authority} may only narrow`;
  const message = refused.map(({ rule, asked, limit: value }) => `${rule}: ${asked} was requested, ${limit} ${value}`);
  const hint =
    authority === "host"
      ? `raise overrides.ceiling.${refused[0]?.rule} in the policy, or request less`
      : "request no more than the policy allows";
  return new CodecellError("override_refused", message.join("\n"), { hint, details: { authority, refused } });
}

/** An override within every limit can still contradict another rule, such as a minimum above the chosen runner. */
function refuseContradictions(policy: Policy): void {
  const problems = inconsistencies(policy).map(({ path, message }) => ({ rule: rulePath(path), message }));
  if (problems.length === 0) return;
  const message = problems.map(({ rule, message }) => `${rule}: ${message}`).join("\n");
  throw new CodecellError("override_refused", message, {
    hint: "change both rules, or neither",
    details: { problems },
  });
}
