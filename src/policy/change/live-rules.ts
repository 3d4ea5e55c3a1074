import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import type { PolicyFieldName } from "../rules.ts";
import { netRules, type Policy } from "../schema.ts";
import { type Authority, mergePolicy, settlePolicy } from "./merge.ts";

const live = {
  enabled: true,
  allowlist: true,
  deny: true,
  connections: true,
  requests: true,
  sent: true,
  received: true,
} as const;

/** The rules that can change while a session is open. All others are fixed when its cell starts. */
export const liveRules: ReadonlySet<PolicyFieldName> = new Set(
  Object.keys(live).map((name) => `net.${name}` as PolicyFieldName),
);

const makeLiveNet = () => z.strictObject(netRules()).pick(live).partial();
type LiveNet = z.input<ReturnType<typeof makeLiveNet>>;

const cache: { liveNet?: ReturnType<typeof makeLiveNet> } = {};

/** The schema of these rules. It is built when it is first used, because most processes never change a policy. */
export function liveNet(): ReturnType<typeof makeLiveNet> {
  cache.liveNet ??= makeLiveNet();
  return cache.liveNet;
}

/** A change to the rules of an open session; `null` withdraws the earlier request for that rule. */
export interface LiveChange {
  readonly net: { readonly [Name in keyof LiveNet]: LiveNet[Name] | null };
}

/** The changes requested for a session so far. Those of callers apply on top of those of the host program. */
export interface RequestedRules {
  readonly host?: LiveNet | undefined;
  readonly caller?: LiveNet | undefined;
}

export const requestedRulesSchema = z.object({ host: checked().optional(), caller: checked().optional() });

/** The policy of a session: the operator's with the requested changes, never wider than the operator now permits. */
export function policyInForce(operator: Policy, { host, caller }: RequestedRules): Policy {
  const given = host === undefined ? operator : settlePolicy(operator, { net: host }, "host");
  return caller === undefined ? given : settlePolicy(given, { net: caller }, "caller");
}

/**
 * Adds a change to the earlier requests, or throws `override_refused`. The limit is the operator's policy, not the rules in
 * force: a caller that narrowed a session may widen it again, up to that policy.
 */
export function addRequest(
  operator: Policy,
  requestedRules: RequestedRules,
  change: LiveChange,
  authority: Authority,
): RequestedRules {
  refuseOtherRules(change);
  const layer = authority === "host" ? "host" : "caller";
  const base = layer === "host" ? operator : policyInForce(operator, { host: requestedRules.host });
  assertAllowed(base, withoutNull(change.net), authority);
  const net = withoutNull({ ...requestedRules[layer], ...change.net });
  return { ...requestedRules, [layer]: Object.keys(net).length === 0 ? undefined : net };
}

function assertAllowed(base: Policy, net: LiveNet, authority: Authority): void {
  try {
    mergePolicy(base, { net }, authority);
  } catch (error) {
    if (!(error instanceof CodecellError) || error.code !== "policy_invalid") throw error;
    // The call is wrong, not the operator's policy.
    const { message, hint, details } = error;
    throw new CodecellError("usage", message, { ...(hint === undefined ? {} : { hint }), details, cause: error });
  }
}

function withoutNull(net: LiveChange["net"]): LiveNet {
  return Object.fromEntries(Object.entries(net).filter(([, value]) => value !== null && value !== undefined));
}

/** Untyped programs can pass any rule. Refuse those that an open session cannot enforce. */
function refuseOtherRules(change: LiveChange): void {
  const named = Object.entries(change).flatMap(([section, rules]) =>
    Object.keys(rules ?? {}).map((name) => `${section}.${name}`),
  );
  const other = named.find((name) => !liveRules.has(name as PolicyFieldName));
  if (other === undefined) return;
  throw new CodecellError("not_supported", `${other} cannot change while a session is open`, {
    hint: `open a new session; rules that can change: ${[...liveRules].join(", ")}`,
    details: { rule: other },
  });
}

/** Validates without converting: requests are stored as they were written. */
function checked() {
  return z.custom<LiveNet>((value) => liveNet().safeParse(value).success, "not rules of a network");
}
