import { expect, test } from "vitest";
import { pastedLines } from "./pasted-lines.ts";

const pasted = (text: string, isBlockStart = true) => pastedLines(text, isBlockStart).join("\n");

test("a pasted block keeps its empty lines, and not those at its end", () => {
  expect(pasted("def f():\n    x = 1\n\n    return x\n\n")).toBe("def f():\n    x = 1\n\n    return x");
});

test("line breaks of Windows and of terminals are line breaks", () => {
  expect(pastedLines("a\r\nb\rc", true)).toEqual(["a", "b", "c"]);
});

test("the indentation of the first line is removed at the first prompt only", () => {
  expect(pasted("    if x:\n        y\n\n    z")).toBe("if x:\n    y\n\nz");
  expect(pasted("    y\n    z", false)).toBe("    y\n    z");
});

test("Python's prompts are removed, and so is what the code printed", () => {
  expect(pasted(">>> x = 1\n>>> for i in range(2):\n...     print(i)\n...\n0\n1\n>>> x")).toBe(
    "x = 1\nfor i in range(2):\n    print(i)\n\nx",
  );
});

test("IPython's prompts are removed, and so is what the code printed", () => {
  expect(pasted("In [3]: def f():\n   ...:     return 1\n   ...: \n   ...: f()\nOut[3]: 1\n\nIn [4]: x")).toBe(
    "def f():\n    return 1\n\nf()\nx",
  );
});

test("code that only mentions a prompt is not changed", () => {
  expect(pasted("x = 1\n'''\n>>> x\n'''")).toBe("x = 1\n'''\n>>> x\n'''");
});

test("control characters in pasted text are removed", () => {
  expect(pasted("x = 1\u001b[2K\u202e\u0007\ty")).toBe("x = 1[2K\ty");
});
