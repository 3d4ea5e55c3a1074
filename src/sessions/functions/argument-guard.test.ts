import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ArgumentGuard } from "./argument-guard.ts";

const columns = Array.from({ length: 40 }, (_, n) => `c${n}`);
const row = { type: "object", properties: Object.fromEntries(columns.map((name) => [name, { type: "string" }])) };
const rows = { type: "object", properties: { rows: { type: "array", items: { ...row, required: columns } } } };
const many = (one: unknown, count = 200_000) => Array.from({ length: count }, () => one);

describe("a guard lets zod see", () => {
  test.each<[string, object, unknown]>([
    ["what fits", rows, { rows: [Object.fromEntries(columns.map((name) => [name, ""]))] }],
    ["a few wrong values, which zod describes", rows, { rows: [{ c0: 1 }, { c1: 2 }] }],
    ["many values that fit", { items: { type: ["integer", "null"] } }, many(1)],
    ["many values that fit the second alternative", { items: { anyOf: [{ type: "string" }, {}] } }, many(1, 90_000)],
    ["values by a reference", { $defs: { a: { type: "number" } }, items: { $ref: "#/$defs/a" } }, many(0.5)],
    ["keywords that it does not know", { items: { not: { type: "string" } } }, many("a")],
  ])("%s", (_, schema, value) => {
    expect(new ArgumentGuard(schema as Record<string, unknown>).problem(value)).toBeUndefined();
  });

  test("what a zod schema makes fit", () => {
    const schema = z.object({ a: z.array(z.coerce.number()), b: z.array(z.number().catch(0)) });
    expect(new ArgumentGuard(schema).problem({ a: many("1", 1000), b: many("x", 1000) })).toBeUndefined();
  });
});

describe("a guard refuses what zod would make too many objects for", () => {
  const seen = "at least 92 more";
  test.each<[string, object, unknown, string]>([
    ["rows without their columns", rows, { rows: many({}) }, "rows.0.c0: it is missing"],
    ["items of a wrong type", { items: { type: "integer" } }, many("a"), "0: expected integer, received string"],
    ["members that are not allowed", { additionalProperties: false }, { ...many(0, 1000) }, "0: no value is allowed"],
    ["values of no choice", { items: { enum: ["a"] } }, many("b"), "0: it is none of the allowed values"],
    ["parts of all", { items: { allOf: [{ type: "string" }] } }, many(1), "0: expected string, received integer"],
    ["first items", { prefixItems: [{ type: "string" }], items: { type: "null" } }, many(1), "1: expected null"],
  ])("%s", (_, schema, value, problem) => {
    const said = new ArgumentGuard(schema as Record<string, unknown>).problem(value);
    expect(said).toContain(problem);
    expect(said).toContain(seen);
  });

  test("a zod schema's rows without their columns", () => {
    const schema = z.object({ rows: z.array(z.object({ a: z.string() })) });
    expect(new ArgumentGuard(schema).problem({ rows: many({}) })).toContain("rows.0.a: it is missing");
  });

  test.each<[string, object, unknown]>([
    ["wrong alternatives", { anyOf: [{ items: { ...row, required: columns } }, {}] }, many({})],
    ["a reference to itself", { $defs: { a: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" }, 1],
    ["too many steps", { items: { allOf: many({}, 100) } }, many(1)],
  ])("%s", (_, schema, value) => {
    const said = new ArgumentGuard(schema as Record<string, unknown>).problem(value);
    expect(said).toBe("it has too many values to be checked: pass fewer at a time");
  });
});
