import { expect, test } from "vitest";
import { plainStyle } from "../format/text/style.ts";
import { inspectionText } from "./inspection-text.ts";

const facts = { name: "f", type: "function", truncated: false };

test("an inspection shows the signature first, and a text of several lines below its title", () => {
  const text = inspectionText({ ...facts, signature: "f(x)", doc: "Adds.\n\nMore." }, plainStyle, false);
  expect(text).toBe("Signature:  f(x)\nType:       function\nDocstring:\nAdds.\n\nMore.\n");
});

test("the source replaces the docstring, and its absence is said", () => {
  expect(inspectionText({ ...facts, doc: "Adds.", source: "def f(): ..." }, plainStyle, true)).not.toContain(
    "Docstring",
  );
  expect(inspectionText({ ...facts, doc: "Adds." }, plainStyle, true)).toContain(
    "Docstring:  Adds.\nits source code is not available\n",
  );
});

test("an inspection is bounded, and shows no escape sequence of the cell", () => {
  const text = inspectionText({ ...facts, type: "\u001b]0;x\u0007", doc: "line\n".repeat(500) }, plainStyle, false);
  expect(text).toContain("^[]0;x^G");
  expect(text).toContain("… 401 more lines");
});
