import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parsePolicy } from "./file/parse-policy.ts";
import { parsePolicyText } from "./file/parse-policy-text.ts";
import { builtinDeny } from "./paths/builtin-deny.ts";
import { refusedPlaces } from "./paths/host-path.ts";
import { policyRules, ruleNames } from "./rules.ts";

const text = readFileSync(new URL("../../docs/policy.md", import.meta.url), "utf8");
const options = { file: "sandbox.policy.yaml", baseDir: "/srv/project", homeDir: "/home/someone" };

function blocks(info: string, page = text): string[] {
  return [...page.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)]
    .filter((match) => match[1] === info)
    .map((match) => match[2] ?? "");
}

test.each(blocks("yaml", readFileSync(new URL("../../docs/network.md", import.meta.url), "utf8")))(
  "an example in docs/network.md parses: %j",
  (example) => expect(parsePolicyText(example, options).net.enabled).toBe(true),
);

describe("docs/policy.md", () => {
  test.each(blocks("yaml").map((example, index) => [index + 1, example] as const))(
    "example %i parses",
    (_index, example) => {
      expect(parsePolicyText(example, options)).not.toEqual(parsePolicy({}));
    },
  );

  test("shows errors as the parser prints them", () => {
    const [wrong] = blocks("yaml invalid");
    const shown = blocks("text").find((block) => block.includes("sandbox.policy.yaml:"));
    expect(() => parsePolicyText(wrong ?? "", options)).toThrow(expect.objectContaining({ message: shown?.trimEnd() }));
  });

  test("lists every rule with its default", () => {
    const values = new Map(policyRules(parsePolicy({})).map(({ rule, value }) => [rule, value]));
    const rows = new Map(
      [...text.matchAll(/^\| `([\w.]+)` \| `?(.*?)`? \| .+ \|$/gm)].map((match) => [match[1], match[2]]),
    );
    for (const rule of ruleNames) {
      const value = values.get(rule)?.replace(/^built-in.*/, "none");
      const written = rows.get(rule)?.replace(/^(?:\[\]|\{\})$/, "none");
      expect([rule, written]).toEqual([rule, value]);
    }
  });

  test("lists the whole built-in deny list and every refused path", () => {
    for (const glob of builtinDeny) expect(text).toContain(`\`${glob}\``);
    const linux = refusedPlaces.filter(({ place }) => !/^\/(?:private|System|Library|Applications|lib)/.test(place));
    for (const { place } of linux) expect(text).toContain(`\`${place}\``);
  });
});
