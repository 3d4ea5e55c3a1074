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

/** The rules that hold from the moment they change. All others are built into a cell when it starts. */
export const liveRules: ReadonlySet<PolicyFieldName> = new Set(
  Object.keys(live).map((name) => `net.${name}` as PolicyFieldName),
);

const liveNet = z.strictObject(netRules).pick(live).partial();
type LiveNet = z.input<typeof liveNet>;

/** What somebody asks of a living session; `null` takes back what was asked of that rule before. */
export interface LiveChange {
  readonly net: { readonly [Name in keyof LiveNet]: LiveNet[Name] | null };
}

const { shape } = liveNet;
/** The same for whoever reads it from a wire. */
export const liveChangeSchema = z.strictObject({
  net: z
    .strictObject({
      enabled: shape.enabled.nullable(),
      allowlist: shape.allowlist.nullable(),
      deny: shape.deny.nullable(),
      connections: shape.connections.nullable(),
      requests: shape.requests.nullable(),
      // as text: what is kept of it is what was written
      sent: netRules.sent.in.optional().nullable(),
      received: netRules.received.in.optional().nullable(),
    })
    .describe("each rule as in a policy file; null: as it was before anybody changed it; absent: as it is"),
});

/** What was asked of a session so far. What callers ask comes on top of what the host's program asked. */
export interface RequestedRules {
  readonly host?: LiveNet | undefined;
  readonly caller?: LiveNet | undefined;
}

export const requestedRulesSchema = z.object({ host: checked().optional(), caller: checked().optional() });

/** The policy of a session: its operator's, with what was asked. Where the operator gives less now, less holds. */
export function policyInForce(operator: Policy, { host, caller }: RequestedRules): Policy {
  const given = host === undefined ? operator : settlePolicy(operator, { net: host }, "host");
  return caller === undefined ? given : settlePolicy(given, { net: caller }, "caller");
}

/**
 * Adds a change to what was asked before, or throws `override_refused`. What limits it is the operator's policy and not what
 * holds now: who narrowed a session may widen it again, that far and no further.
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
    // It is the call that is wrong, and not the operator's policy.
    const { message, hint, details } = error;
    throw new CodecellError("usage", message, { ...(hint === undefined ? {} : { hint }), details, cause: error });
  }
}

function withoutNull(net: LiveChange["net"]): LiveNet {
  return Object.fromEntries(Object.entries(net).filter(([, value]) => value !== null && value !== undefined));
}

/** A program without types could name any rule: one that a living cell does not follow must not be said to hold. */
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

/** What was written down is kept as it was written: sizes stay text. */
function checked() {
  return z.custom<LiveNet>((value) => liveNet.safeParse(value).success, "not rules of a network");
}
