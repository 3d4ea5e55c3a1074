import { expect, test } from "vitest";
import { completionTarget } from "./completion-target.ts";

/** The cursor is at the bar. */
function at(marked: string) {
  const cursor = marked.indexOf("|");
  const found = completionTarget(marked.replace("|", ""), cursor);
  return found && [found.kind, found.path.join("."), found.prefix, found.start];
}

test.each([
  ["pri|", ["names", "", "pri", 0]],
  ["x = |", ["names", "", "", 4]],
  ["f(na|)", ["names", "", "na", 2]],
  ["a.b.c|", ["attributes", "a.b", "c", 4]],
  ["print(os.pa|", ["attributes", "os", "pa", 9]],
  ["größe.wert|", ["attributes", "größe", "wert", 6]],
  ["'text'.up|", ["attributes", "str", "up", 7]],
  ["import nu|", ["modules", "", "nu", 7]],
  ["import os, xml.e|", ["modules", "xml", "e", 15]],
  ["from xml.e|", ["modules", "xml", "e", 9]],
  ["from os.path import join, is|", ["members", "os.path", "is", 26]],
  ["x = 1; import nu|", ["modules", "", "nu", 14]],
  ["d['ke|", ["keys", "d", "ke", 3]],
  ['a.b["|"]', ["keys", "a.b", "", 5]],
  ["open('data/da|", ["files", "data/", "da", 11]],
  ["open('|", ["files", "", "", 6]],
  ["x = 'a'\ny|", ["names", "", "y", 8]],
  ["'''\nit's\n''' + na|", ["names", "", "na", 15]],
])("the code %j asks for %j", (marked, found) => {
  expect(at(marked)).toEqual(found);
});

test.each(["# pri|", "f().x|", "d[0].x|", "1.re|", "'''te|", "x..y|"])(
  "nothing is offered at %j, because it is not known without running it",
  (marked) => {
    expect(at(marked)).toBeUndefined();
  },
);

test("keywords are offered with names, and not with attributes", () => {
  expect(completionTarget("imp", 3)?.keywords).toEqual(["import"]);
  expect(completionTarget("a.imp", 5)?.keywords).toEqual([]);
});

test("a key is closed unless the code already does", () => {
  expect(completionTarget("d['k", 4)?.suffix).toBe("']");
  expect(completionTarget("d['k']", 4)?.suffix).toBe("");
});
