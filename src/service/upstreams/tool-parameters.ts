import { isRecord } from "../../lib/is-record.ts";
import type { JsonSchema } from "../../sessions/functions/host-function.ts";
import { isReservedName } from "../../sessions/functions/reserved-names.ts";

const maxSchemaBytes = 64 * 1024;
const maxParameters = 64;
const maxDepth = 3;
const maxDescriptionCharacters = 300;
const maxChoices = 32;

/** How a Python function takes the arguments of a tool. */
export interface ToolParameters {
  readonly input: JsonSchema;
  /** The tool's arguments from those of the function. */
  toArguments(given: Readonly<Record<string, unknown>>): Record<string, unknown>;
}

/** One dict for everything: for tools whose schema makes no signature. */
const oneDict: ToolParameters = {
  input: {
    type: "object",
    properties: { arguments: { type: "object", description: "the tool's arguments by name" } },
  },
  toArguments: ({ arguments: given }) => ({ ...(isRecord(given) ? given : {}) }),
};

/**
 * The parameters of a tool, made of its schema. Only kinds of values are taken over: no references, no patterns (the attack: one
 * that keeps this process busy for ever) and no limits, which the server checks itself. A name that is not one in
 * Python gets another: `from` is `from_`. A schema that is none becomes one dict.
 */
export function toolParameters(schema: unknown): ToolParameters {
  if (!isRecord(schema) || !isRecord(schema.properties) || (JSON.stringify(schema) ?? "").length > maxSchemaBytes)
    return isRecord(schema) && schema.properties === undefined && schema.additionalProperties === false
      ? none
      : oneDict;
  const properties = Object.entries(schema.properties);
  const names = new Map(properties.map(([name]) => [parameterName(name), name]));
  if (names.size !== properties.length || names.size > maxParameters) return oneDict;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const parameters = [...names].map(([parameter, name]) => {
    const kind = plainSchema(isRecord(schema.properties) ? schema.properties[name] : undefined, 0);
    // models pass None for what they leave out
    const input = required.has(name) ? kind : { anyOf: [kind, { type: "null" }] };
    return [parameter, { ...input, ...descriptionOf(schema.properties, name) }] as const;
  });
  return {
    input: {
      ...{ type: "object", properties: Object.fromEntries(parameters), additionalProperties: false },
      required: parameters.flatMap(([parameter]) => (required.has(names.get(parameter)) ? [parameter] : [])),
    },
    toArguments: (given) =>
      Object.fromEntries(
        Object.entries(given).flatMap(([parameter, value]) => {
          const name = names.get(parameter);
          return name === undefined || (value === null && !required.has(name)) ? [] : [[name, value]];
        }),
      ),
  };
}

const none: ToolParameters = { input: { type: "object", properties: {} }, toArguments: () => ({}) };

function parameterName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, "_").replace(/^(?=\d)/, "_");
  return plain === "" || isReservedName(plain, "parameter") ? `${plain}_` : plain;
}

/** What is left of a schema: types, choices, items and members. */
function plainSchema(schema: unknown, depth: number): JsonSchema {
  if (!isRecord(schema) || depth > maxDepth) return {};
  const { type, enum: choices, anyOf, oneOf, items } = schema;
  if (Array.isArray(choices) && choices.length > 0 && choices.length <= maxChoices && choices.every(isPlain))
    return { enum: choices };
  const either = anyOf ?? oneOf;
  if (Array.isArray(either) && either.length > 0) return { anyOf: either.map((one) => plainSchema(one, depth + 1)) };
  if (Array.isArray(type)) return { anyOf: type.map((one) => plainSchema({ ...schema, type: one }, depth + 1)) };
  if (type === "array") return { type, ...(isRecord(items) ? { items: plainSchema(items, depth + 1) } : {}) };
  return typeof type === "string" && types.has(type) ? { type } : {};
}

const types: ReadonlySet<string> = new Set(["string", "integer", "number", "boolean", "null", "object"]);

function descriptionOf(properties: unknown, name: string): { description?: string } {
  const property = isRecord(properties) ? properties[name] : undefined;
  if (!isRecord(property)) return {};
  const text = typeof property.description === "string" ? property.description.slice(0, maxDescriptionCharacters) : "";
  const value = isPlain(property.default) ? ` (default: ${JSON.stringify(property.default).slice(0, 100)})` : "";
  return text === "" && value === "" ? {} : { description: `${text}${value}`.trim() };
}

function isPlain(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}
