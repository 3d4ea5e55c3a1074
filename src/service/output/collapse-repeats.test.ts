import { expect, test } from "vitest";
import { collapseRepeats, originalPosition } from "./collapse-repeats.ts";

test("a line that comes many times in a row is said once", () => {
  const { text } = collapseRepeats(`start\n${"same\n".repeat(9_999)}end\n`);
  expect(text).toBe("start\nsame\n… the line above 9,998 more times\nend\n");
});

test("a long line that comes twice is said once", () => {
  const line = `${"x".repeat(500)}\n`;
  expect(collapseRepeats(line + line).text).toBe(`${line}… the line above 1 more time\n`);
});

test("few short repetitions stay as they are", () => {
  const text = "a\na\na\nb\nb\n\n\n\n";
  expect(collapseRepeats(text)).toEqual({ text, repeats: [], originalLength: text.length });
});

test("a last line without an end is not one of the repeated", () => {
  expect(collapseRepeats(`${"same\n".repeat(100)}same`).text).toBe("same\n… the line above 99 more times\nsame");
});

test("positions lead back to the original", () => {
  const original = `${"one\n".repeat(100)}middle\n${"two\n".repeat(100)}end`;
  const collapsed = collapseRepeats(original);
  expect(collapsed.repeats).toHaveLength(2);
  for (const word of ["middle", "end"]) {
    expect(originalPosition(collapsed, collapsed.text.indexOf(word))).toBe(original.indexOf(word));
  }
  expect(originalPosition(collapsed, collapsed.text.length)).toBe(original.length);
});
