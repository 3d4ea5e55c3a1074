import { expect, test } from "vitest";
import { checkerOf, functionSpec } from "../../sessions/functions/function-spec.ts";
import { toolParameters } from "./tool-parameters.ts";

const text = { type: "string" };
const spec = (schema: unknown) => {
  const { input } = toolParameters(schema);
  checkerOf("f", input); // what a session does with it
  return functionSpec("f", { description: "", input, call: () => 1 }).parameters.map(({ name, hint, required }) => {
    return `${name}: ${hint}${required ? "" : " = ..."}`;
  });
};

test("parameters have the names and kinds of the tool's arguments", () => {
  const properties = {
    ...{ query: text, limit: { type: "integer" }, tags: { type: "array", items: text } },
    order: { enum: ["up", "down"] },
  };
  expect(spec({ type: "object", properties, required: ["query"] })).toEqual([
    ...["query: str", "limit: int | None = ...", "tags: list[str] | None = ..."],
    'order: Literal["up", "down"] | None = ...',
  ]);
});

test("names that Python does not allow get others, and the tool gets its own", () => {
  const schema = {
    type: "object",
    properties: { from: text, "my-arg": text, "9": text, "": text },
    required: ["from"],
  };
  expect(spec(schema)).toEqual([
    ...["_9: str | None = ...", "from_: str", "my_arg: str | None = ...", "_: str | None = ..."],
  ]);
  const given = { from_: "a", my_arg: "b", _9: null, _: "d", forged: 1 };
  expect(toolParameters(schema).toArguments(given)).toEqual({ from: "a", "my-arg": "b", "": "d" });
});

test.each([
  undefined,
  null,
  "text",
  [],
  { type: "array", items: text },
  { type: "object", additionalProperties: true },
  { type: "object", properties: { a: text, "a ": text, a_: text } },
  { type: "object", properties: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`p${n}`, text])) },
  { type: "object", properties: { a: { description: "x".repeat(70_000) } } },
])("a schema that makes no signature becomes one dict: %j", (schema) => {
  expect(spec(schema)).toEqual(["arguments: dict = ..."]);
  expect(toolParameters(schema).toArguments({ arguments: { "any thing": 1 } })).toEqual({ "any thing": 1 });
  expect(toolParameters(schema).toArguments({})).toEqual({});
});

test("references, patterns, limits and unknown types are left out", () => {
  const properties = {
    slow: { type: "string", pattern: "^(a+)+$", format: "regex", minLength: 5 },
    lost: { $ref: "#/nowhere" },
    odd: { type: "banana" },
    deep: { type: "array", items: { type: "array", items: { type: "array", items: { type: "array", items: text } } } },
    wrong: 7,
  };
  const { input } = toolParameters({ type: "object", properties, required: Object.keys(properties) });
  expect(JSON.stringify(input)).not.toMatch(/pattern|\$ref|banana|minLength|format/);
  const checked = checkerOf("f", input).safeParse({ slow: "a", lost: 1, odd: {}, deep: [], wrong: null });
  expect(checked.success).toBe(true);
});

test("own properties such as __proto__ do not reach a prototype", () => {
  const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}');
  const given = JSON.parse('{"__proto__": {"polluted": true}}');
  toolParameters(schema).toArguments(given);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});
