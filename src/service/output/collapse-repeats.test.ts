import { expect, test } from "vitest";
import { collapseRepeats, originalPosition } from "./collapse-repeats.ts";

test("collapseRepeats shows a line once that is repeated many times in a row", () => {
  const { text } = collapseRepeats(`start\n${"same\n".repeat(9_999)}end\n`);
  expect(text).toBe("start\nsame\n… the line above 9,998 more times\nend\n");
});

test("collapseRepeats shows a long line once that is repeated twice", () => {
  const line = `${"x".repeat(500)}\n`;
  expect(collapseRepeats(line + line).text).toBe(`${line}… the line above 1 more time\n`);
});

test("collapseRepeats keeps a few short repetitions", () => {
  const text = "a\na\na\nb\nb\n\n\n\n";
  expect(collapseRepeats(text)).toEqual({ text, repeats: [], originalLength: text.length });
});

test("collapseRepeats does not collapse a last line without a line end", () => {
  expect(collapseRepeats(`${"same\n".repeat(100)}same`).text).toBe("same\n… the line above 99 more times\nsame");
});

test("originalPosition maps positions of the collapsed text to the original", () => {
  const original = `${"one\n".repeat(100)}middle\n${"two\n".repeat(100)}end`;
  const collapsed = collapseRepeats(original);
  expect(collapsed.repeats).toHaveLength(2);
  for (const word of ["middle", "end"]) {
    expect(originalPosition(collapsed, collapsed.text.indexOf(word))).toBe(original.indexOf(word));
  }
  expect(originalPosition(collapsed, collapsed.text.length)).toBe(original.length);
});
