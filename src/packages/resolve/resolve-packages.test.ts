import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { patienceMs, tries } from "../../../test/support/fuzz/long-mode.ts";
import { debianTarget } from "../../../test/support/packages/package-lab.ts";
import { defaultLimits } from "../package-limits.ts";
import { markerEnvironment } from "../requirements/marker-environment.ts";
import { parseRequirement } from "../requirements/requirement.ts";
import { rangeContains } from "../requirements/version-range.ts";
import type { Candidate } from "./candidate.ts";
import type { PackageSource } from "./package-source.ts";
import { resolvePackages } from "./resolve-packages.ts";

/** Packages in memory: what each version of each package requires. */
type Universe = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

function sourceOf(universe: Universe, looked: string[] = []): PackageSource {
  const page = { index: { url: new URL("https://packages.example/"), shown: "", authorization: undefined } };
  return {
    candidates: async (name) => ({
      candidates: Object.keys(universe[name] ?? {})
        .sort((a, b) => Number(b) - Number(a))
        .map(
          (version) => ({ name, version, page, file: { yanked: false }, isPrerelease: false }) as unknown as Candidate,
        ),
      left: [],
    }),
    metadata: async ({ name, version }) => {
      looked.push(`${name} ${version}`);
      const requires = (universe[name]?.[version] ?? []).map((text) => parseRequirement(text, name));
      return { requires, requiresPython: undefined, problem: undefined };
    },
  };
}

async function resolve(roots: readonly string[], universe: Universe, looked?: string[]): Promise<Map<string, string>> {
  const constraints = roots.map((text) => ({ requirement: parseRequirement(text, "x"), by: "--with", because: [] }));
  const chosen = await resolvePackages(constraints, {
    ...{ source: sourceOf(universe, looked), target: debianTarget, environment: markerEnvironment(debianTarget) },
    ...{ rules: { allow: ["*"], deny: [] }, limits: defaultLimits },
  });
  return new Map(chosen.map(({ name, version }) => [name, version]));
}

/** Written apart from the code under test: tries every combination of versions. */
function isSolvable(roots: readonly string[], universe: Universe): boolean {
  const names = Object.keys(universe);
  const fits = (text: string, chosen: ReadonlyMap<string, string>) => {
    const { name, range } = parseRequirement(text, "x");
    const version = chosen.get(name);
    return version !== undefined && rangeContains(range, version);
  };
  const search = (at: number, chosen: Map<string, string>): boolean => {
    const name = names[at];
    if (name === undefined)
      return [...roots, ...[...chosen].flatMap(([one, version]) => universe[one]?.[version] ?? [])].every((text) =>
        fits(text, chosen),
      );
    return [undefined, ...Object.keys(universe[name] ?? {})].some((version) => {
      const next = new Map(chosen);
      if (version !== undefined) next.set(name, version);
      return search(at + 1, next);
    });
  };
  return search(0, new Map());
}

const names = ["a", "b", "c", "d"];
const requirement = fc
  .tuple(fc.constantFrom(...names), fc.constantFrom("", "<2", ">1", "==1", "==2", "!=2", ">=2"))
  .map(([name, range]) => `${name}${range}`);
const requires = fc.array(requirement, { maxLength: 2 });
const versions = fc.record({ "1": requires, "2": requires, "3": requires }, { requiredKeys: ["2"] });
const universe = fc.record({ a: versions, b: versions, c: versions, d: versions }) as unknown as fc.Arbitrary<Universe>;

describe("the resolver", () => {
  test(
    "finds versions that fit together exactly if there are any, and takes nothing that nobody needs",
    async () => {
      const property = fc.asyncProperty(
        fc.array(requirement, { minLength: 1, maxLength: 3 }),
        universe,
        async (roots, all) => {
          const chosen = await resolve(roots, all).catch((error: unknown) => {
            expect(error).toMatchObject({ code: "packages_failed", details: { reason: "no_version" } });
            return undefined;
          });
          expect(chosen !== undefined).toBe(isSolvable(roots, all));
          if (!chosen) return;
          const needs = [...roots, ...[...chosen].flatMap(([name, version]) => all[name]?.[version] ?? [])];
          const parsed = needs.map((text) => parseRequirement(text, "x"));
          for (const { name, range } of parsed) expect(rangeContains(range, chosen.get(name) ?? "")).toBe(true);
          expect([...chosen.keys()].sort()).toEqual([...new Set(parsed.map(({ name }) => name))].sort());
        },
      );
      await fc.assert(property, tries(400));
    },
    patienceMs,
  );

  test("changes an earlier choice that a later package does not accept", async () => {
    const all = { c: { "1": [], "2": [] }, a: { "1": ["c<2"] }, b: { "1": ["d"] }, d: { "1": ["c<2"] } };
    expect(Object.fromEntries(await resolve(["c", "a"], all))).toEqual({ c: "1", a: "1" });
    expect(Object.fromEntries(await resolve(["c", "b"], all))).toEqual({ c: "1", b: "1", d: "1" });
  });

  test("goes back to a choice that had a part in the conflict, past others that had none", async () => {
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`${at + 1}`, []]));
    const all = {
      culprit: { "2": ["end<2"], "1": [] },
      ...Object.fromEntries(["p", "q", "r", "s"].map((name) => [name, many])),
      last: { "1": ["end>=2"] },
      end: { "1": [], "2": [] },
    };
    const looked: string[] = [];
    const chosen = await resolve(["culprit", "p", "q", "r", "s", "last"], all, looked);
    expect(Object.fromEntries(chosen)).toEqual({
      culprit: "1",
      p: "40",
      q: "40",
      r: "40",
      s: "40",
      last: "1",
      end: "2",
    });
    expect(looked.length).toBeLessThan(30); // every combination of the others would be millions
  });
});
