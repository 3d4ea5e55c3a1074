import type { JsonSchema } from "./host-function.ts";

const names: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None",
};

const maxDepth = 4;

/** A Python type hint for values of a JSON Schema: for people and models, nothing is checked with it. */
export function pythonHint(schema: JsonSchema, depth = 0): string {
  if (depth > maxDepth) return "Any";
  const { type, enum: values, const: only, anyOf, oneOf, items, additionalProperties } = schema;
  const choices = only !== undefined ? [only] : values;
  if (Array.isArray(choices)) return `Literal[${choices.map((value) => literal(value)).join(", ")}]`;
  const either = anyOf ?? oneOf;
  if (Array.isArray(either)) return unique(either.map((one) => pythonHint(one as JsonSchema, depth + 1)));
  if (Array.isArray(type)) return unique(type.map((one) => pythonHint({ ...schema, type: one }, depth + 1)));
  if (type === "array") return isSchema(items) ? `list[${pythonHint(items, depth + 1)}]` : "list";
  if (type === "object") {
    return isSchema(additionalProperties) ? `dict[str, ${pythonHint(additionalProperties, depth + 1)}]` : "dict";
  }
  return (typeof type === "string" && names[type]) || "Any";
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
}

function unique(hints: readonly string[]): string {
  return [...new Set(hints)].join(" | ");
}

/** JSON text is Python text for strings and numbers. */
function literal(value: unknown): string {
  if (value === true) return "True";
  if (value === false) return "False";
  return value === null ? "None" : JSON.stringify(value);
}
