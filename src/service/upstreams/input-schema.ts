import type { JsonSchemaObject } from "./host-function.ts";

const maxSchemaBytes = 64 * 1024;
const maxProperties = 64;
/** Accepts any arguments: the server checks them anyway. */
const anything: JsonSchemaObject = { type: "object" };

/**
 * The schema of a tool's arguments, reduced to what a Python signature needs. A schema that is not one of an object, too large or too
 * wide becomes one that accepts anything: servers get schemas wrong, and the signature is for the reader.
 */
export function inputSchema(given: unknown): JsonSchemaObject {
  if (!isRecord(given) || (given.type !== undefined && given.type !== "object")) return anything;
  if ((JSON.stringify(given) ?? "").length > maxSchemaBytes) return anything;
  const properties = isRecord(given.properties) ? given.properties : {};
  const names = Object.keys(properties);
  if (names.length > maxProperties) return anything;
  const required = Array.isArray(given.required) ? given.required.filter((name) => names.includes(name)) : [];
  return { ...given, type: "object", properties, required };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
