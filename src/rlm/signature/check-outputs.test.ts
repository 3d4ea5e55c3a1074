import { describe, expect, test } from "vitest";
import { checkInputs, checkOutputs, valueErrorsText } from "./check-outputs.ts";
import { inputSchema, outputSchema } from "./json-schema.ts";
import { parseSignature } from "./parse-signature.ts";

/** Checks one value as the output `v` of the given type. */
function check(type: string, value: unknown) {
  return checkOutputs(parseSignature(`a -> v: ${type}`), { v: value });
}
const accepted = (value: unknown) => ({ ok: true, outputs: { v: value } });

describe("DSPy 1.7: each output is parsed by its type", () => {
  test.each<[string, unknown, unknown]>([
    ["str", "text", "text"],
    ["str", 3, "3"],
    ["str", true, "True"],
    ["int", 3, 3],
    ["int", "3", 3],
    ["int", " 1_000 ", 1000],
    ["int", 3.0, 3],
    ["float", "2.5e1", 25],
    ["float", 2, 2],
    ["bool", "True", true],
    ["bool", "no", false],
    ["bool", 1, true],
    ["list[int]", [1, "2"], [1, 2]],
    ["list[int]", "[1, 2]", [1, 2]],
    ["dict[str, float]", '{"a": 1}', { a: 1 }],
    ["dict", { a: [1] }, { a: [1] }],
    ["Optional[int]", null, null],
    ["Optional[int]", "null", null],
    ["Optional[str]", "null", "null"],
    ["Optional[int]", "4", 4],
    ["str | int", 3, 3],
    ["int | str", "x", "x"],
    ['Literal["yes", "no"]', "yes", "yes"],
    ['Literal["yes", "no"]', " 'yes' ", "yes"],
    ['Literal["yes", "no"]', 'Literal["no"]', "no"],
    ["Any", { x: [null] }, { x: [null] }],
    ["Any", "3", "3"],
  ])("%s takes %j", (type, value, expected) => {
    expect(check(type, value)).toEqual(accepted(expected));
  });

  test.each<[string, unknown, string, string]>([
    ["str", null, "v", "expected str, got None; convert it"],
    ["str", ["a"], "v", "expected str, got a list of 1"],
    ["int", 3.5, "v", "expected int, got float 3.5; round it"],
    ["int", true, "v", "expected int, got True"],
    ["int", "three", "v", 'expected int, got str "three"'],
    ["int", 2 ** 60, "v", "too large for JSON"],
    ["float", "nan", "v", 'expected float, got str "nan"'],
    ["float", "", "v", 'expected float, got str ""'],
    ["bool", 2, "v", "expected bool, got int 2"],
    ["list[str]", ["a", 1], "v[1]", "expected str, got int 1"],
    ["list[str]", "a, b", "v", 'expected list[str], got str "a, b"'],
    ["list[dict[str, int]]", [{ n: 1 }, { n: "x" }], "v[1].n", "expected int"],
    ["dict[str, int]", { "a b": "x" }, 'v["a b"]', "expected int"],
    ["dict[str, int]", [], "v", "expected dict[str, int], got a list of 0"],
    ['Literal["yes", "no"]', "maybe", "v", 'expected one of "yes", "no"; got str "maybe"'],
    ["Optional[int]", "x", "v", 'expected int, got str "x"'],
    ["int | bool", "x", "v", "expected int | bool"],
  ])("%s refuses %j and names the place", (type, value, path, message) => {
    const checked = check(type, value);
    expect(checked).toMatchObject({ ok: false, errors: [{ path }] });
    if (!checked.ok) expect(checked.errors[0]?.message).toContain(message);
  });

  test("missing and unknown outputs are errors that show the call", () => {
    const checked = checkOutputs(parseSignature("q -> answer, score: float"), { answer: "a", extra: 1 });
    expect(checked.ok).toBe(false);
    if (checked.ok) return;
    expect(valueErrorsText(checked.errors)).toBe(
      "- score: is missing; call SUBMIT(answer=…, score=…)\n- extra: is not an output; call SUBMIT(answer=…, score=…)",
    );
    expect(checkOutputs(parseSignature("q -> a"), [1])).toMatchObject({ ok: false });
    expect(checkOutputs(parseSignature("q -> a"), null)).toMatchObject({ ok: false });
  });

  test("a long list of wrong items gives a short list of errors", () => {
    const checked = check("list[int]", Array(100_000).fill("x"));
    expect(checked.ok).toBe(false);
    if (!checked.ok) expect(checked.errors).toHaveLength(20);
  });

  test("a key that is special in JavaScript stays data", () => {
    const checked = check("dict[str, int]", JSON.parse('{"__proto__": 1, "constructor": 2}'));
    expect(checked.ok && Object.entries(checked.outputs.v as object)).toEqual([
      ["__proto__", 1],
      ["constructor", 2],
    ]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe("JSON Schema", () => {
  test("covers every type, with descriptions", () => {
    const signature = parseSignature(
      'a: str "in" -> b: int, c: list[bool] "flags", d: dict[str, float], e: Optional[str], f: Literal["x", 1], g: Any',
    );
    expect(outputSchema(signature)).toEqual({
      type: "object",
      properties: {
        b: { type: "integer" },
        c: { type: "array", items: { type: "boolean" }, description: "flags" },
        d: { type: "object", additionalProperties: { type: "number" } },
        e: { anyOf: [{ type: "string" }, { type: "null" }] },
        f: { enum: ["x", 1] },
        g: {},
      },
      required: ["b", "c", "d", "e", "f", "g"],
      additionalProperties: false,
    });
    expect(inputSchema(signature).properties).toEqual({ a: { type: "string", description: "in" } });
  });
});

describe("DSPy 1.7: undeclared and missing inputs are errors before execution", () => {
  const signature = parseSignature("question, docs: list[str], focus: Optional[str] -> answer");

  test("values are converted, an optional input may be left out, and held variables are not read", () => {
    expect(checkInputs(signature, { question: "q" }, new Set(["docs"]))).toEqual({ question: "q", focus: null });
    expect(checkInputs(signature, { question: 3, docs: '["a"]' })).toEqual({ question: "3", docs: ["a"], focus: null });
  });

  test.each<[Record<string, unknown>, string]>([
    [{ question: "q" }, "the input docs is missing"],
    [{ question: "q", docs: [], other: 1 }, "other is not an input of the signature"],
    [{ question: "q", docs: [1] }, "the input docs[0]: expected str, got int 1"],
  ])("%j is refused", (values, message) => {
    expect(() => checkInputs(signature, values)).toThrow(
      expect.objectContaining({
        code: "usage",
        message: expect.stringContaining(message),
        hint: expect.stringContaining("question: str, docs"),
      }),
    );
  });
});
