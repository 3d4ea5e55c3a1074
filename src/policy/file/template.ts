import { stringify } from "yaml";
import type { PolicyInput } from "../schema.ts";
import { type JsonSchema, policyJsonSchema } from "./json-schema.ts";

/** Sections that the template shows as a comment only, with an example. */
const examples: Record<string, string> = {
  env: '{ TZ: "Europe/Berlin" }',
  overrides: "{ ceiling: { proc: { memory: 4GiB } } }",
};

/** The text of a new `sandbox.policy.yaml`: every rule with an explanation and its default, or the preset's value. */
export function policyTemplate(preset: PolicyInput = {}): string {
  const lines = [
    "# What code in a cell may do. Everything you leave out gets the strictest default: an empty file is the strictest",
    "# policy. `codecell policy check` validates this file, and `codecell policy explain` shows how each rule is enforced",
    "# on this machine. Paths are relative to this file.",
  ];
  for (const [name, schema] of Object.entries(policyJsonSchema().properties ?? {})) {
    const chosen = (preset as Record<string, unknown>)[name];
    lines.push("", ...comment(schema.description, ""));
    if (schema.properties === undefined) lines.push(rule(name, schema, chosen, ""));
    else if (name in examples) lines.push(`# ${name}: ${examples[name]}`);
    else lines.push(`${name}:`, ...section(schema, (chosen ?? {}) as Record<string, unknown>));
  }
  return `${lines.join("\n")}\n`;
}

function section(schema: JsonSchema, chosen: Record<string, unknown>): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    return [...comment(field.description, "  "), rule(name, field, chosen[name], "  ")];
  });
}

function rule(name: string, schema: JsonSchema, chosen: unknown, indent: string): string {
  const value = chosen ?? schema.default;
  if (value === undefined) return `${indent}# ${name}: ${schema.examples?.[0] ?? ""}`;
  return `${indent}${name}: ${stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trimEnd()}`;
}

function comment(text: string | undefined, indent: string): string[] {
  return text === undefined ? [] : [`${indent}# ${text}`];
}
