import { expect, test } from "vitest";
import { highlight } from "./highlight.ts";

const shown = (code: string, language = "python") =>
  highlight(code, language).map(({ from, to, kind }) => `${kind} ${code.slice(from, to)}`);

test("Python", () => {
  expect(shown("@app.route\ndef f(x):  # note\n    return x1 if None else 0x1F + 1.5e-3j")).toEqual([
    "decorator @app.route",
    ...["keyword def", "definition f", "comment # note", "keyword return", "keyword if", "atom None", "keyword else"],
    ...["number 0x1F", "number 1.5e-3j"],
  ]);
  expect(shown("a @ b; class Größe: pass")).toEqual(["keyword class", "definition Größe", "keyword pass"]);
});

test.each([
  ["'a\\'b' + c", ["string 'a\\'b'"]],
  ['rb"x" if y', ['string rb"x"', "keyword if"]],
  ['"""a\n"b" # no\n""" # yes', ['string """a\n"b" # no\n"""', "comment # yes"]],
  ["'open\nif x", ["string 'open", "keyword if"]],
  ["f'''open\nif x", ["string f'''open\nif x"]],
  ["# it's\nif x", ["comment # it's", "keyword if"]],
  ["''", ["string ''"]],
])("a string in %j ends where Python ends it", (code, tokens) => {
  expect(shown(code)).toEqual(tokens);
});

test("bash", () => {
  expect(shown('for f in *.csv; do echo "$f" $f a#b; done # end', "bash")).toEqual([
    ...["keyword for", "keyword in", "keyword do", "atom echo", 'string "$f"', "variable $f", "keyword done"],
    "comment # end",
  ]);
});

test("another language has no colours", () => {
  expect(shown("if x", "cobol")).toEqual([]);
});

test.each(['"'.repeat(90_000), "'''\\".repeat(22_000), "@".repeat(90_000), "1_".repeat(45_000), "#\n".repeat(45_000)])(
  "hostile code %# does not block the page",
  (code) => {
    const started = performance.now();
    highlight(code, "python");
    highlight(code, "bash");
    expect(performance.now() - started).toBeLessThan(3_000);
  },
);
