import { expect, test } from "vitest";
import { firstTemplate } from "./first-template.ts";
import { policyJsonSchema } from "./json-schema.ts";
import { parsePolicy } from "./parse-policy.ts";
import { parsePolicyText } from "./parse-policy-text.ts";
import { presetNames, presets } from "./presets.ts";

const options = { file: "sandbox.policy.yaml", baseDir: "/srv/project" };

test.each(presetNames)("the first file of the preset %s has at most 44 lines and means that preset", (name) => {
  const text = firstTemplate(presets[name]);
  expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(44);
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(120);
  expect(parsePolicyText(text, options)).toEqual(parsePolicy(presets[name]));
});

test.each(presetNames)("every example in the first file of the preset %s is valid when its # is removed", (name) => {
  const [, , , ...lines] = firstTemplate(presets[name]).split("\n");
  const text = lines.map((line) => line.replace(/^( *)# (?= *\w+:)/, "$1")).join("\n");
  const policy = parsePolicyText(text, options);
  expect(policy).toMatchObject({
    proc: { cpus: 2 },
    fs: { workspace: "/srv/project/work", load: ["/srv/project/data"] },
    net: { enabled: true, allowlist: [{}, {}] },
    env: { TZ: "Europe/Berlin" },
    session: { persist: true },
    llm: { models: ["anthropic/claude-*"] },
    tools: { allow: ["docs/*", "github/create_issue"] },
    audit: { code: "hash" },
    isolation: { minimum: "process" },
  });
  expect(policy.kernel.preload).toEqual(expect.arrayContaining(["numpy", "pandas"]));
  const sections = Object.keys(policyJsonSchema().properties ?? {}).filter((one) => one !== "version");
  for (const section of sections) expect(text).toMatch(new RegExp(`^${section}: # .+\\.$`, "m"));
});
