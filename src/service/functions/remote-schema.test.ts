import { expect, test } from "vitest";
import type { JsonSchema } from "../../sessions/functions/host-function.ts";
import { assertCheckable } from "./remote-schema.ts";

const declare = (property: unknown, more: JsonSchema = {}) =>
  assertCheckable([{ name: "f", input: { type: "object", properties: { s: property }, ...more } }]);
const doubling = (levels: number) =>
  Object.fromEntries(
    Array.from({ length: levels }, (_, level) => {
      const below = { $ref: `#/$defs/a${level - 1}` };
      return [`a${level}`, level === 0 ? { type: "string" } : { anyOf: [below, below] }];
    }),
  );

test("a schema with nested objects, alternatives, formats and definitions is accepted", () => {
  const point = { type: "object", properties: { x: { type: "number" }, at: { type: "string", format: "date-time" } } };
  declare({ type: "array", items: { anyOf: [{ $ref: "#/$defs/point" }, { type: "null" }] } }, { $defs: { point } });
  declare({ type: "object", additionalProperties: { enum: ["a", 1] } });
  declare(true);
});

test.each<[string, unknown, JsonSchema?]>([
  ["has pattern, which", { type: "string", pattern: "^(a+)+$" }],
  ["has patternProperties", { type: "object", patternProperties: { "^(a+)+$": {} } }],
  ["has uniqueItems", { type: "array", uniqueItems: true }],
  ["has pattern", { type: "array", items: [{ anyOf: [{ pattern: "a" }] }] }],
  ["has pattern", { $ref: "#/$defs/a" }, { $defs: { a: { pattern: "a" } } }],
  ["more than 1000 parts", { anyOf: Array.from({ length: 1001 }, () => ({ type: "string" })) }],
  ["more than 1000 parts", { $ref: "#/$defs/a11" }, { $defs: doubling(12) }],
  ["refers to itself", { $ref: "#/$defs/a" }, { $defs: { a: { items: { $ref: "#/$defs/a" } } } }],
  ["refers to #/properties/s", { $ref: "#/properties/s" }],
  ["refers to #/$defs/toString", { $ref: "#/$defs/toString" }, { $defs: {} }],
])("a schema is refused because it says: %s (%#)", (message, property, more) => {
  expect(() => declare(property, more)).toThrow(message);
});

test("the functions of a session have a limit together, with their results", () => {
  const schema = { anyOf: Array.from({ length: 900 }, () => ({ type: "string" })) };
  const functions = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ name: `f${n}`, input: schema, output: schema }));
  assertCheckable(functions(5));
  expect(() => assertCheckable(functions(6))).toThrow("more than 10000 parts");
});
