import { commonGlobs, starCovers } from "../host-calls/star-glob.ts";
import type { WholePackageRules } from "../package-rules.ts";
import type { Policy, PolicyPatch } from "../schema.ts";
import type { MergeRule } from "./merge-rules.ts";
import { atLeast, fewer, onlyOff, onlyOn } from "./rule-orders.ts";

type Rules = WholePackageRules;
type Part = { readonly [Name in keyof Rules]?: Rules[Name] | undefined };

/**
 * `kernel.packages`: an override changes its parts one by one. Indexes are compared as a whole. The attack: without the first of
 * two indexes, the second one supplies a name that the first one owns.
 */
export const packagesRule: MergeRule = {
  isIn: (patch) => patched(patch) !== undefined,
  apply: (policy, patch) => write(policy, merged(read(policy), patched(patch))),
  narrows: (to, from) => narrows(read(to), read(from)),
  allowsHost: (to, from, ceiling) => {
    const limit = patched(ceiling);
    if (narrows(read(to), read(from))) return true;
    if (limit === undefined) return false;
    const widest = joined(read(from), limit);
    // an index is the policy's or the ceiling's
    return [read(from).index, widest.index].some((index) => narrows(read(to), { ...widest, index }));
  },
  meet: (policy, other) => write(policy, common(read(policy), read(other))),
};

function narrows(to: Rules, from: Rules): boolean {
  return (
    fewer.narrows(to.install, from.install) &&
    to.index.join("\n") === from.index.join("\n") &&
    to.allow.every((glob) => from.allow.some((wide) => starCovers(wide, glob))) &&
    from.deny.every((glob) => to.deny.some((wide) => starCovers(wide, glob))) &&
    onlyOn.narrows(to.hashes, from.hashes) &&
    atLeast.narrows(to.minAgeMs, from.minAgeMs) &&
    onlyOff.narrows(to.inside, from.inside) &&
    to.sdists.every((glob) => from.sdists.some((wide) => starCovers(wide, glob)))
  );
}

/** What both permit. Two different lists of indexes have nothing in common: the other one is the limit. */
function common(rules: Rules, other: Rules): Rules {
  return {
    install: rules.install.filter((item) => other.install.includes(item)),
    index: other.index,
    allow: commonGlobs(rules.allow, other.allow, starCovers),
    deny: [...new Set([...rules.deny, ...other.deny])],
    hashes: rules.hashes || other.hashes,
    minAgeMs: Math.max(rules.minAgeMs, other.minAgeMs),
    inside: rules.inside && other.inside,
    sdists: commonGlobs(rules.sdists, other.sdists, starCovers),
  };
}

/** What the policy or its ceiling permits. */
function joined(own: Rules, ceiling: Part): Rules {
  const limit = merged(own, ceiling);
  return {
    install: [...own.install, ...limit.install],
    index: limit.index,
    allow: [...own.allow, ...limit.allow],
    deny: commonGlobs(own.deny, limit.deny, starCovers),
    hashes: own.hashes && limit.hashes,
    minAgeMs: Math.min(own.minAgeMs, limit.minAgeMs),
    inside: own.inside || limit.inside,
    sdists: [...own.sdists, ...limit.sdists],
  };
}

/** An override that names a part leaves the others as they are. */
function merged(own: Rules, part: Part | undefined): Rules {
  const named = Object.entries(part ?? {}).filter(([, value]) => value !== undefined);
  return { ...own, ...(Object.fromEntries(named) as Partial<Rules>) };
}

function patched(patch: PolicyPatch): Part | undefined {
  return patch.kernel?.packages;
}

function read(policy: Policy): Rules {
  return policy.kernel.packages;
}

function write(policy: Policy, packages: Rules): Policy {
  return { ...policy, kernel: { ...policy.kernel, packages } };
}
