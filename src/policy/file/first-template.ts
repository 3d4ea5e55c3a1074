import { stringify } from "yaml";
import type { PolicyInput } from "../schema.ts";

/** A rule of the first file: its value, and what it does. */
type Example = readonly [rule: string, value: unknown, meaning?: string];

interface ExampleSection {
  readonly name: keyof PolicyInput;
  readonly meaning: string;
  /** rules that are in force; the other examples are comments */
  readonly inForce?: readonly Example[];
  readonly examples: readonly Example[];
}

/** The rules that most people change first, one section after the other. */
const sections: readonly ExampleSection[] = [
  {
    name: "proc",
    meaning: "What one run may use.",
    inForce: [
      ["timeout", "30s"],
      ["memory", "512MiB"],
    ],
    examples: [["cpus", 2]],
  },
  {
    name: "fs",
    meaning: "Host files that the code can see: none, unless named here.",
    examples: [
      ["workspace", "./work", "at /workspace, read-write; without it, files are removed with the session"],
      ["mounts", [{ source: "./data", target: "/data" }], "read-only; mode: rw makes it writable"],
      ["load", ["./data"], "files that may be loaded into a variable"],
    ],
  },
  {
    name: "net",
    meaning: "The network, through a proxy: no host, unless named here.",
    examples: [
      ["enabled", true],
      ["allowlist", ["api.example.com", "*.example.org"]],
    ],
  },
  { name: "env", meaning: "Variables in the cell. It gets no others.", examples: [["TZ", "Europe/Berlin"]] },
  {
    name: "kernel",
    meaning: "The Python in the cell.",
    examples: [
      ["preload", ["numpy", "pandas"], "imported before the first run"],
      ["packages", { install: ["pandas==2.2.3", "requests"] }, "at /deps; with inside: true, %pip install works"],
    ],
  },
  {
    name: "session",
    meaning: "How long sessions live.",
    examples: [
      ["idle", "2h", "a session without a call for this long expires"],
      ["persist", true, "keep files and variables on disk"],
    ],
  },
  {
    name: "llm",
    meaning: "Models that code may call through the host, with the host's keys: none, unless named here.",
    examples: [["models", ["anthropic/claude-*"], "under limits of calls, tokens and money"]],
  },
  {
    name: "tools",
    meaning: "Tools of other MCP servers that code may call: none, unless named here.",
    examples: [["allow", ["docs/*", "github/create_issue"], "a glob allows read-only tools only"]],
  },
  {
    name: "audit",
    meaning: "What is recorded of every run.",
    examples: [["code", "hash", "the code's hash instead of its text"]],
  },
  {
    name: "isolation",
    meaning: "The weakest sandbox that you accept. auto takes the strongest one available.",
    examples: [["minimum", "process"]],
  },
  {
    name: "overrides",
    meaning: "How far a program may raise these limits.",
    examples: [["ceiling", { proc: { memory: "4GiB" } }]],
  },
];

/** The text of a new `sandbox.policy.yaml` for a first look: a real example for every section, and few lines. */
export function firstTemplate(preset: PolicyInput = {}): string {
  const lines = [
    "# What code in a cell may do. Everything you leave out gets the strictest default; remove a # to allow something.",
    "# `codecell policy check` validates this file, `codecell policy explain` shows how each rule is enforced here, and",
    "# `codecell policy init --all` writes every rule. Paths are relative to this file.",
  ];
  for (const section of sections) {
    const chosen = Object.entries((preset[section.name] as Record<string, unknown> | undefined) ?? {});
    const inForce = new Map<string, unknown>([
      ...(section.inForce ?? []).map(([rule, value]) => [rule, value] as const),
    ]);
    for (const [rule, value] of chosen) inForce.set(rule, value);
    const examples = section.examples.filter(([rule]) => !inForce.has(rule));
    const isInForce = inForce.size > 0;
    lines.push("", `${isInForce ? "" : "# "}${section.name}: # ${section.meaning}`);
    for (const [rule, value] of inForce) lines.push(`  ${line(rule, value)}`);
    for (const example of examples) lines.push(`${isInForce ? "  # " : "#   "}${line(...example)}`);
  }
  return `${lines.join("\n")}\n`;
}

function line(rule: string, value: unknown, meaning?: string): string {
  const text = stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
  return `${rule}: ${text}${meaning === undefined ? "" : ` # ${meaning}`}`;
}
