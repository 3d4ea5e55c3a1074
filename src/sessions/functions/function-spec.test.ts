import { expect, test } from "vitest";
import { z } from "zod";
import { encodeSpecs, functionSpec } from "./function-spec.ts";
import type { HostFunctions } from "./host-function.ts";
import { pythonHint } from "./python-hint.ts";

const exposed = (input: HostFunctions[string]["input"], more: object = {}): HostFunctions[string] => ({
  ...{ description: "Does it.", input, call: () => null, ...more },
});

test("a zod schema becomes parameters with type hints, defaults and a docstring", () => {
  const input = z.object({
    word: z.string().describe("what to look up"),
    limit: z.number().int().default(3),
    tags: z.array(z.enum(["a", "b"])).optional(),
  });
  expect(functionSpec("lookup", exposed(input, { output: z.array(z.string()) }))).toEqual({
    name: "lookup",
    description: "Does it.\n\n    word: what to look up",
    parameters: [
      { name: "word", hint: "str", required: true },
      { name: "limit", hint: "int", required: false, default: 3 },
      { name: "tags", hint: 'list[Literal["a", "b"]]', required: false },
    ],
    returns: "list[str]",
  });
});

test.each(["print", "class", "a-b", "", "9lives", "x".repeat(65), "__import__"])(
  "a host function cannot be named %j",
  (name) => {
    expect(() => functionSpec(name, exposed({ type: "object" }))).toThrow("cannot be named");
  },
);

test("a parameter may have the name of a builtin, but not of a keyword", () => {
  const named = (name: string) => exposed({ type: "object", properties: { [name]: { type: "string" } } });
  expect(functionSpec("find", named("id")).parameters[0]?.name).toBe("id");
  expect(() => functionSpec("find", named("from"))).toThrow('cannot have a parameter "from"');
});

test("only a schema that allows additional properties takes any keyword argument", () => {
  const names = (schema: object) => functionSpec("f", exposed({ type: "object", ...schema })).parameters;
  expect(names({})).toEqual([]);
  expect(names({ additionalProperties: false })).toEqual([]);
  expect(names({ additionalProperties: true })).toMatchObject([{ name: "kwargs", rest: true }]);
  const taken = { properties: { kwargs: {} }, additionalProperties: {} };
  expect(names(taken)).toMatchObject([{ name: "kwargs" }, { name: "other_kwargs", rest: true }]);
});

test("an input that is not an object is rejected with the way to describe one", () => {
  expect(() => functionSpec("find", exposed({ type: "string" }))).toThrow("is not an object");
});

test("more functions than the cell accepts are rejected", () => {
  const one = exposed({ type: "object" });
  const many = Object.fromEntries(Array.from({ length: 257 }, (_, at) => [`f${at}`, one]));
  expect(() => encodeSpecs(many)).toThrow("the limit is 256");
});

test.each([
  [{ type: "array", items: { type: "integer" } }, "list[int]"],
  [{ type: "object", additionalProperties: { type: "number" } }, "dict[str, float]"],
  [{ type: ["string", "null"] }, "str | None"],
  [{ anyOf: [{ type: "boolean" }, { const: null }] }, "bool | Literal[None]"],
  [{}, "Any"],
])("the JSON Schema %j is the Python hint %s", (schema, hint) => {
  expect(pythonHint(schema)).toBe(hint);
});
