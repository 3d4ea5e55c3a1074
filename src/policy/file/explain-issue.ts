import type { z } from "zod";
import { levelsWithoutRunner } from "../isolation.ts";
import { suggestHost } from "../network/host-pattern.ts";
import type { RuleName } from "../rules.ts";
import { suggestDuration, suggestSize } from "../units.ts";
import { type JsonSchema, policyJsonSchema, schemaAt } from "./json-schema.ts";
import type { FoundProblem } from "./plain-copy.ts";
import { type PolicyPath, printableValue, rulePath } from "./problem.ts";
import { nearest } from "./suggest.ts";

type Issue = z.core.$ZodIssue;

/** unknown keys explained per section */
const maxKeys = 40;

const unitSuggestions: Partial<Record<RuleName, (written: unknown) => string | undefined>> = {
  "net.sent": suggestSize,
  "net.received": suggestSize,
  "proc.timeout": suggestDuration,
  "proc.memory": suggestSize,
  "proc.disk": suggestSize,
  "proc.output": suggestSize,
  "llm.callTimeout": suggestDuration,
  "llm.timeout": suggestDuration,
  "tools.timeout": suggestDuration,
  "tools.arguments": suggestSize,
  "tools.result": suggestSize,
};

/** paths of hosts; not of anything that may be a secret */
const hostRules = /^net\.(?:allowlist\[\d+\]|deny\[\d+\]|rules\[\d+\]\.host|secrets\..+\.hosts\[\d+\])$/;

const expectations: Record<string, string> = {
  object: "expected a section with rules in it",
  record: "expected names with values",
  array: "expected a list",
  boolean: "expected true or false",
  string: "expected text",
};

/** Turns a zod issue into problems in the terms of the policy file. `at` is the path of the checked value in the policy. */
export function explainIssue(issue: Issue, input: unknown, at: PolicyPath): FoundProblem[] {
  const inner = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
  const path = [...at, ...inner];
  if (issue.code === "unrecognized_keys") {
    const root = policyJsonSchema();
    return issue.keys.slice(0, maxKeys).map((key) => {
      return { path: [...path, key], message: "unknown rule", suggestion: suggestKey(key, path, root), at: "key" };
    });
  }
  if (issue.code === "invalid_key") return [{ path, message: issue.issues[0]?.message ?? issue.message, at: "key" }];
  const value = valueAt(input, inner);
  const message = explain(issue, path);
  const missing = value === undefined ? " (it is missing)" : `, not ${printableValue(value)}`;
  const showsValue = /^(?:expected|at least|at most)/.test(message) && value !== null;
  return [{ path, message: `${message}${showsValue ? missing : ""}`, suggestion: suggestValue(issue, value, path) }];
}

function explain(issue: Issue, path: PolicyPath): string {
  if (issue.code === "invalid_value" && path.at(-1) !== "version") {
    const useful = issue.values.map(String).filter((value) => !levelsWithoutRunner.includes(value));
    return `expected one of ${useful.join(", ")}`;
  }
  const isOurs = !issue.message.startsWith("Invalid input");
  if (issue.code === "invalid_type" && !isOurs) return expectations[issue.expected] ?? `expected ${issue.expected}`;
  return issue.message;
}

/** A rule with a similar name in the same section, else the full path of a rule with this name in another section. */
function suggestKey(key: string, path: PolicyPath, root: JsonSchema): string | undefined {
  const here = nearest(key, Object.keys(schemaAt(path, root)?.properties ?? {}));
  if (here !== undefined) return here;
  for (const [section, { properties = {} }] of Object.entries<JsonSchema>(root.properties ?? {})) {
    if (section !== "overrides" && Object.hasOwn(properties, key)) return `${section}.${key}`;
  }
  return undefined;
}

function suggestValue(issue: Issue, value: unknown, path: PolicyPath): string | undefined {
  const rule = rulePath(path).replace(/^overrides\.ceiling\./, "") as RuleName;
  if (hostRules.test(rule) && typeof value === "string") return suggestHost(value);
  const unit = unitSuggestions[rule]?.(value);
  if (unit !== undefined) return unit === value ? undefined : unit;
  if (issue.code === "invalid_value" && typeof value === "string") return nearest(value, issue.values.map(String));
  if (issue.code !== "invalid_type") return undefined;
  if (issue.expected === "boolean") return suggestBoolean(value);
  if (issue.expected === "array" && typeof value === "string") return `[${printableValue(value)}]`;
  if (issue.expected === "string" && path[0] === "env" && value !== null && typeof value !== "object")
    return `"${value}"`;
  const isNumber = issue.expected === "number" || issue.expected === "int";
  return isNumber && typeof value === "string" && /^\d{1,9}$/.test(value) ? value : undefined;
}

function suggestBoolean(value: unknown): string | undefined {
  const written = String(value).toLowerCase();
  if (["yes", "on", "y", "true", "1", "enabled"].includes(written)) return "true";
  return ["no", "off", "n", "false", "0", "disabled", "none"].includes(written) ? "false" : undefined;
}

function valueAt(input: unknown, path: PolicyPath): unknown {
  let value = input;
  for (const part of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string | number, unknown>)[part];
  }
  return value;
}
