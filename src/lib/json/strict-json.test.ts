import { expect, test } from "vitest";
import { NotJson, strictJson } from "./strict-json.ts";

class Point {
  x = 1;
}

test.each([
  ["scalars", [1.5, -0, "é", true, null]],
  ["nested arrays and objects", { rows: [{ a: 1 }, { "b c": [[]] }], empty: {} }],
  ["undefined, which is null in arrays and left out of objects", { a: undefined, b: [undefined] }],
  ["an object without a prototype", Object.assign(Object.create(null), { a: 1 })],
  ["a date", { at: new Date(0) }],
  ["an instance that says what it is in JSON", [Object.assign(new Point(), { toJSON: () => ({ x: [2] }) })]],
  ["an object twice", Array(2).fill({ a: [1] })],
])("strict JSON of %s is what JSON.stringify makes of it", (_what, value) => {
  expect(strictJson(value)).toBe(JSON.stringify(value));
});

test.each([
  [Number.NaN, "NaN"],
  [[Number.NaN, Number.POSITIVE_INFINITY], "NaN at [0]"],
  [{ rows: [1, { "unit price": Number.NEGATIVE_INFINITY }] }, '-Infinity at rows[1]["unit price"]'],
  [new Map([[1, 2]]), "an instance of Map"],
  [{ a: [new Set()] }, "an instance of Set at a[0]"],
  [{ point: new Point() }, "an instance of Point at point"],
  [{ "": new Float64Array(2) }, 'an instance of Float64Array at [""]'],
  [{ toJSON: () => ({ of: new Map() }) }, "an instance of Map at of"],
  [[5n], "a BigInt at [0]"],
  [{ call: () => 1 }, "a function at call"],
  [Symbol("a"), "a symbol"],
  [undefined, "undefined"],
])("strict JSON is refused with the place of what JSON would change: %o", (value, message) => {
  expect(() => strictJson(value)).toThrow(new NotJson(message));
});

test("strict JSON is refused for a value that contains itself or is nested too deeply, without a stack overflow", () => {
  const cyclic: unknown[] = [];
  cyclic.push(cyclic, cyclic);
  let deep: unknown = 1;
  for (let level = 0; level < 1_000_000; level++) deep = [deep];
  for (const value of [cyclic, deep]) expect(() => strictJson(value)).toThrow(/^more than 1000 levels/);
});

test("the place of a refused value is short, however deep it is and however long the keys are", () => {
  let value: unknown = Number.NaN;
  for (let level = 0; level < 900; level++) value = { ["k".repeat(100_000)]: value };
  const message = (() => {
    try {
      return strictJson(value);
    } catch (error) {
      return (error as Error).message;
    }
  })();
  expect(message).toMatch(/^NaN at \["k{40}"\]\[/);
  expect(message.length).toBeLessThan(300);
});
