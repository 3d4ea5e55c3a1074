import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments, stringify } from "yaml";
import { evaluate, isEmpty, type Scope } from "./evaluate.ts";
import { parseTemplate, type TemplateNode } from "./template-nodes.ts";

type Tree = Record<string, unknown>;

interface Release {
  readonly Name: string;
  readonly Namespace: string;
}

/**
 * Not Helm: renders only what our chart uses of it, because Helm is not on every machine that runs the tests. What Helm itself made
 * of the same values is recorded in test/fixtures/helm and deploy/manifests, and compared with this.
 */
export function renderChart(directory: string, values: Tree = {}, release: Partial<Release> = {}): string {
  const read = (file: string) => readFileSync(join(directory, file), "utf8");
  const files = readdirSync(join(directory, "templates")).sort();
  const templates = files.map((file) => ({ file, nodes: parseTemplate(read(join("templates", file))) }));
  const defined = new Map<string, readonly TemplateNode[]>();
  for (const node of templates.flatMap(({ nodes }) => nodes)) {
    if (node.kind === "define") defined.set(node.name, node.body);
  }
  const top = {
    Values: valuesOf(directory, values),
    Chart: { AppVersion: parse(read("Chart.yaml")).appVersion },
    Release: { Name: "codecell", Namespace: "codecell", ...release },
  };
  const functions: Scope["functions"] = {
    ...plainFunctions,
    include: (name: string, dot: unknown) => {
      const body = defined.get(name);
      if (body === undefined) throw new Error(`no template ${name}`);
      return rendered(body, { dot, variables: new Map([["$", dot]]), functions });
    },
  };
  const texts = templates
    .filter(({ file }) => file.endsWith(".yaml"))
    .map(({ nodes }) => rendered(nodes, { dot: top, variables: new Map([["$", top]]), functions }).trim());
  return texts.filter((text) => text !== "").join("\n---\n");
}

/** The values that a chart is rendered with, and that Helm checks with the schema: its defaults, changed by those given. */
export function valuesOf(directory: string, given: Tree = {}): Tree {
  return merged(parse(readFileSync(join(directory, "values.yaml"), "utf8")), given);
}

/** The objects of a text with several documents. */
export function documentsOf(text: string): Tree[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    const value = document.toJS();
    return value === null ? [] : [value];
  });
}

const plainFunctions: Scope["functions"] = {
  toYaml: (value: unknown) => toYaml(value),
  nindent: (width: number, text: string) => `\n${text.replace(/^/gm, " ".repeat(width))}`,
  quote: (value: unknown) => JSON.stringify(String(value)),
  printf: (format: string, ...values: unknown[]) =>
    values.reduce<string>((text, one) => text.replace("%s", `${one}`), format),
  default: (fallback: unknown, value: unknown) => (isEmpty(value) ? fallback : value),
  contains: (part: string, text: string) => text.includes(part),
  regexMatch: (pattern: string, text: string) => new RegExp(pattern).test(text),
  eq: (one: unknown, other: unknown) => one === other,
  gt: (one: number, other: number) => one > other,
  not: (value: unknown) => isEmpty(value),
  and: (...values: unknown[]) => values.find(isEmpty) ?? values.at(-1),
  or: (...values: unknown[]) => values.find((value) => !isEmpty(value)) ?? values.at(-1),
  int: (value: unknown) => Math.trunc(Number(value)),
  sha256sum: (text: string) => createHash("sha256").update(text).digest("hex"),
  fail: (message: string) => {
    throw new Error(message);
  },
};

function toYaml(value: unknown): string {
  return stringify(value, { sortMapEntries: true, indentSeq: false, lineWidth: 0 }).trimEnd();
}

function rendered(nodes: readonly TemplateNode[], scope: Scope): string {
  return nodes.map((node) => renderedNode(node, scope)).join("");
}

function renderedNode(node: TemplateNode, scope: Scope): string {
  if (node.kind === "text") return node.text;
  if (node.kind === "define") return "";
  if (node.kind === "range") return renderedRange(node, scope);
  if (node.kind === "print") {
    const [, name, source] = /^(\$\w+)\s*:?=\s*([\s\S]+)$/.exec(node.source) ?? [];
    const value = evaluate(source ?? node.source, scope);
    if (name === undefined) return value === undefined || value === null ? "" : String(value);
    scope.variables.set(name, value);
    return "";
  }
  const value = evaluate(node.source, scope);
  if (isEmpty(value)) return rendered(node.otherwise, scope);
  return rendered(node.body, node.kind === "with" ? { ...scope, dot: value } : scope);
}

function renderedRange(node: Extract<TemplateNode, { body: unknown; source: unknown }>, scope: Scope): string {
  const [, key, name, source = node.source] = /^(\$\w+), (\$\w+) := ([\s\S]+)$/.exec(node.source) ?? [];
  const value = (evaluate(source, scope) ?? []) as unknown[] | Tree;
  const entries = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries
    .map(([at, item]) => {
      if (key !== undefined && name !== undefined) scope.variables.set(key, at).set(name, item);
      return rendered(node.body, { ...scope, dot: item });
    })
    .join("");
}

/** As Helm does it: maps are merged, everything else is replaced, and null removes a value. */
function merged(defaults: Tree, given: Tree): Tree {
  const all = Object.entries({ ...defaults, ...given }).map(([name, value]) => {
    const before = defaults[name];
    return [name, isTree(before) && isTree(value) ? merged(before, value) : value] as const;
  });
  return Object.fromEntries(all.filter(([, value]) => value !== null));
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
