import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type MergeRule, mergeRules } from "../../src/policy/change/merge-rules.ts";
import { policyJsonSchema } from "../../src/policy/file/json-schema.ts";
import { canonicalJson } from "../../src/policy/hash.ts";
import { type PolicyFieldName, showRule } from "../../src/policy/rules.ts";
import { type Policy, policySchema } from "../../src/policy/schema.ts";
import { patienceMs, rounds, tries } from "../support/fuzz/long-mode.ts";
import { policyInputs, ruleValues } from "../support/fuzz/policy-inputs.ts";

/** Not `parsePolicy`: the laws are about single rules, and that refuses rules which contradict each other. */
const inputs = policyInputs();
const parsed = fc
  .sample(inputs, { ...tries(1), numRuns: rounds(100, 1_000) })
  .map((input) => policySchema().parse(input));
const policies = fc.constantFrom(...parsed);

/**
 * Rules where two values can have nothing in common, such as `isolation.runner: auto` and `isolation.runner: wasm`. There the
 * meet is the second value, which is the limit: never wider than the operator's.
 */
const partial: ReadonlySet<string> = new Set<PolicyFieldName>([
  "isolation.runner",
  "fs.mounts",
  "net.rules",
  "session.recovery",
  // two lists of indexes
  "kernel.packages",
]);
/** What two globs have in common is not always a glob, so the meet keeps less than both permit. */
const approximate: ReadonlySet<string> = new Set<PolicyFieldName>(["llm.models", "tools.allow"]);

function law(title: string, holds: (name: string, rule: MergeRule, a: Policy, b: Policy, c: Policy) => boolean) {
  test(
    title,
    () => {
      const property = fc.property(policies, policies, policies, (a, b, c) => {
        const broken = Object.entries(mergeRules).filter(([name, rule]) => !holds(name, rule, a, b, c));
        expect(broken.map(([name]) => [name, shown(a, name), shown(b, name), shown(c, name)])).toEqual([]);
      });
      fc.assert(property, tries(400));
    },
    patienceMs,
  );
}

const shown = (policy: Policy, name: string) => showRule(policy, name as PolicyFieldName);
/** Lists and tables can say the same in several ways. */
const isList = (name: string) =>
  /^env$|^net\.(?:allow|deny|inspect|rules|secrets)|mounts|deny|load|preload|packages|models|allow/.test(name);
const same = (rule: MergeRule, a: Policy, b: Policy) => rule.narrows(a, b) && rule.narrows(b, a);
const areComparable = (rule: MergeRule, a: Policy, b: Policy) => rule.narrows(a, b) || rule.narrows(b, a);
/** Whether the laws of a meet are claimed for this pair. */
const haveMeet = (name: string, rule: MergeRule, a: Policy, b: Policy) =>
  !partial.has(name) || areComparable(rule, a, b);

describe("narrows", () => {
  law("a policy narrows itself", (_name, rule, a) => rule.narrows(a, a));

  const chains = new Map<string, number>();
  law("a policy that narrows a narrower one narrows the wider one too", (name, rule, a, b, c) => {
    // random policies rarely form a chain, so some are built
    const lowest = rule.narrows(a, b) ? a : rule.meet(a, b);
    const highest = rule.join?.(b, c) ?? c;
    if (!rule.narrows(lowest, b) || !rule.narrows(b, highest)) return true;
    chains.set(name, (chains.get(name) ?? 0) + 1);
    return rule.narrows(lowest, highest);
  });

  test("every rule had chains to try that law with", () => {
    expect(Object.keys(mergeRules).filter((name) => (chains.get(name) ?? 0) < 5)).toEqual([]);
  });

  law(
    "policies that narrow each other have the same value, up to the order and repetition of entries",
    (name, rule, a, b) => {
      if (!same(rule, a, b)) return true;
      return isList(name) ? same(rule, rule.meet(a, b), a) : shown(a, name) === shown(b, name);
    },
  );
});

describe("meet", () => {
  law(
    "the meet of two policies narrows both",
    (name, rule, a, b) =>
      !haveMeet(name, rule, a, b) || (rule.narrows(rule.meet(a, b), a) && rule.narrows(rule.meet(a, b), b)),
  );

  law("the meet never permits more than the second policy, which is the limit", (_name, rule, a, b) =>
    rule.narrows(rule.meet(a, b), b),
  );

  law("the meet of a policy with itself is that policy", (_name, rule, a) => same(rule, rule.meet(a, a), a));

  law(
    "the meet does not depend on the order of its policies",
    (name, rule, a, b) => !haveMeet(name, rule, a, b) || same(rule, rule.meet(a, b), rule.meet(b, a)),
  );

  law(
    "the meet of three policies does not depend on where it starts",
    (name, rule, a, b, c) =>
      partial.has(name) ||
      approximate.has(name) ||
      same(rule, rule.meet(rule.meet(a, b), c), rule.meet(a, rule.meet(b, c))),
  );

  law(
    "whatever narrows two policies narrows their meet",
    (name, rule, a, b, c) =>
      partial.has(name) ||
      approximate.has(name) ||
      !(rule.narrows(c, a) && rule.narrows(c, b)) ||
      rule.narrows(c, rule.meet(a, b)),
  );

  law(
    "the meet with a wider policy changes nothing",
    (_name, rule, a, b) => !rule.narrows(a, b) || same(rule, rule.meet(a, b), a),
  );
});

describe("join", () => {
  law("both policies narrow their join", (_name, rule, a, b) => {
    const joined = rule.join?.(a, b);
    return joined === undefined || (rule.narrows(a, joined) && rule.narrows(b, joined));
  });

  law(
    "the join of a policy with itself is that policy",
    (_name, rule, a) => rule.join === undefined || same(rule, rule.join(a, a), a),
  );

  law(
    "the join does not depend on order or grouping",
    (_name, { join, ...rule }, a, b, c) =>
      join === undefined ||
      (same(rule, join(a, b), join(b, a)) && same(rule, join(join(a, b), c), join(a, join(b, c)))),
  );

  law(
    "meet and join absorb each other",
    (_name, { join, ...rule }, a, b) =>
      join === undefined || (same(rule, join(a, rule.meet(a, b)), a) && same(rule, rule.meet(a, join(a, b)), a)),
  );
});

describe("the table of rules", () => {
  const written = Object.entries(policyJsonSchema().properties ?? {}).flatMap(([section, { properties }]) => {
    if (section === "version" || section === "overrides") return [];
    return properties === undefined ? [section] : Object.keys(properties).map((rule) => `${section}.${rule}`);
  });

  test("every rule of the schema has a row and values to try it with", () => {
    expect(Object.keys(mergeRules).sort()).toEqual([...written].sort());
    expect(Object.keys(ruleValues).sort()).toEqual([...written].sort());
  });

  test("every part of a parsed policy is read by exactly one rule", () => {
    const [from] = fc.sample(policies, { numRuns: 1, seed: 1 });
    const parts = fc
      .sample(policies, { numRuns: 15, seed: 2 })
      .flatMap((to) => leaves(to).map((leaf) => ({ to, leaf })));
    const seen = new Map<string, Set<string>>();
    for (const { to, leaf } of parts) {
      const changed = withLeaf(from as Policy, to, leaf);
      const noticed = Object.entries(mergeRules).filter(([, rule]) => !same(rule, changed, from as Policy));
      const names = seen.get(leaf.join(".")) ?? new Set();
      for (const [name] of noticed) names.add(name);
      seen.set(leaf.join("."), names);
    }
    expect([...seen].filter(([, names]) => names.size !== 1)).toEqual([]);
    expect(seen.size).toBe(written.length);
  });

  test("no rule changes another one when it is met or joined", () => {
    const property = fc.property(policies, policies, (a, b) => {
      for (const [name, rule] of Object.entries(mergeRules)) {
        for (const result of [rule.meet(a, b), rule.join?.(a, b) ?? a]) {
          const changed = leaves(a).filter(
            (leaf) => canonicalJson({ x: at(a, leaf) }) !== canonicalJson({ x: at(result, leaf) }),
          );
          expect([name, changed.length <= 1]).toEqual([name, true]);
        }
      }
    });
    fc.assert(property, tries(5));
  });
});

type Leaf = readonly [section: string, key?: string];
const optional: Leaf[] = [
  ["fs", "workspace"],
  ["fs", "deps"],
  ["kernel", "python"],
  ["kernel", "image"],
];

function leaves(policy: Policy): Leaf[] {
  const named = Object.entries(policy).flatMap(([section, value]): Leaf[] => {
    if (section === "version" || section === "overrides") return [];
    return section === "env" ? [[section]] : Object.keys(value as object).map((key): Leaf => [section, key]);
  });
  const missing = optional.filter((leaf) => !named.some((other) => other.join(".") === leaf.join(".")));
  return [...named, ...missing];
}

function at(policy: Policy, [section, key]: Leaf): unknown {
  const value = (policy as unknown as Record<string, Record<string, unknown>>)[section];
  return key === undefined ? value : value?.[key];
}

function withLeaf(policy: Policy, other: Policy, [section, key]: Leaf): Policy {
  const value = at(other, [section, key] as Leaf);
  const own = (policy as unknown as Record<string, object>)[section];
  return { ...policy, [section]: key === undefined ? value : { ...own, [key]: value } } as Policy;
}
