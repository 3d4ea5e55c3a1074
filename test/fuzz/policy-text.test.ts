import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { CodecellError } from "../../src/lib/errors.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { parsePolicyText } from "../../src/policy/file/parse-policy-text.ts";
import { policyTemplate } from "../../src/policy/file/template.ts";
import { policyHash } from "../../src/policy/hash.ts";
import type { Policy } from "../../src/policy/schema.ts";
import { cpuMsOf } from "../support/cpu-time.ts";
import { patienceMs, tries } from "../support/fuzz/long-mode.ts";
import { mutatedBytes, oddValues } from "../support/fuzz/mutations.ts";
import { policyInputs } from "../support/fuzz/policy-inputs.ts";

const context = { baseDir: "/srv", homeDir: "/home/someone" };
const slowestMs = 2_000; // of one parse, in CPU time

function parsed(text: string | Uint8Array): Policy | string {
  return settled(() => parsePolicyText(text, { file: "p", ...context }));
}

/** The policy or the code of our error; anything else is a bug. */
function settled(parse: () => Policy): Policy | string {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof CodecellError)) throw error;
    expect(error.message.length).toBeLessThan(20_000);
    return error.code;
  }
}

/** Some rules of a policy, so that most of these policies contain no contradiction. */
const someRules = policyInputs().chain((input) => {
  const sections = Object.keys(input) as (keyof typeof input)[];
  return fc.subarray(sections).map((names) => Object.fromEntries(names.map((name) => [name, input[name]])));
});

describe("a policy", () => {
  test(
    "means the same as YAML, as JSON and as an object",
    () => {
      let valid = 0;
      const property = fc.property(someRules, (input) => {
        const policy = settled(() => parsePolicy(input, context));
        if (typeof policy !== "string") valid++;
        expect(parsed(stringify(input))).toEqual(policy);
        expect(parsed(JSON.stringify(input))).toEqual(policy);
        if (typeof policy !== "string") expect(policyHash(parsed(stringify(input)) as Policy)).toBe(policyHash(policy));
      });
      fc.assert(property, tries(60));
      expect(valid).toBeGreaterThan(5);
    },
    patienceMs,
  );

  test(
    "of odd values is a policy or an error with a code",
    () => {
      const odd = fc.oneof(fc.constantFrom(...oddValues), fc.anything({ maxDepth: 2 }));
      const property = fc.property(
        someRules,
        fc.array(fc.tuple(fc.nat(), fc.nat(), odd), { minLength: 1, maxLength: 3 }),
        (input, edits) => {
          const copy: Record<string, unknown> = { ...input };
          for (const [section, rule, value] of edits) {
            const names = Object.keys(copy);
            const name = names[section % (names.length || 1)] ?? "proc";
            const rules = Object.keys((copy[name] as object | undefined) ?? {});
            const isWhole = rules.length === 0 || rule % 4 === 0;
            copy[name] = isWhole ? value : { ...(copy[name] as object), [rules[rule % rules.length] as string]: value };
          }
          settled(() => parsePolicy(copy, context));
        },
      );
      fc.assert(property, tries(100));
    },
    patienceMs,
  );
});

test(
  "the text of a policy file is a policy or an error with a code, and never takes long, however it is mutated",
  async () => {
    const samples = [
      ...fc.sample(someRules, { numRuns: 15, seed: 5 }).map((input) => stringify(input)),
      policyTemplate(),
    ];
    const property = fc.asyncProperty(mutatedBytes(samples.map((text) => Buffer.from(text))), async (bytes) => {
      expect(await cpuMsOf(() => parsed(bytes))).toBeLessThan(slowestMs);
    });
    await fc.assert(property, tries(80));
  },
  patienceMs,
);
