import { expect, test } from "vitest";
import { ReverseSearch } from "./reverse-search.ts";

const lines = ["print(total)", "total = sum(rows)", "rows = [1]", "total = 0"];
const search = (typed: string) => {
  const one = new ReverseSearch(lines);
  return { step: one.feed(typed), text: one.text };
};

test("a search shows the newest line that holds the typed text", () => {
  expect(search("").text).toBe("(reverse-i-search)`': ");
  expect(search("tot").text).toBe("(reverse-i-search)`tot': print(total)");
  expect(search("total =").text).toBe("(reverse-i-search)`total =': total = sum(rows)");
});

test("Ctrl-R goes to older lines, and Ctrl-S back", () => {
  expect(search("tot\u0012").text).toContain(": total = sum(rows)");
  expect(search("tot\u0012\u0012").text).toContain(": total = 0");
  expect(search("tot\u0012\u0012\u0013").text).toContain(": total = sum(rows)");
});

test("a search that finds nothing says so and keeps the last match", () => {
  expect(search("rows!").text).toBe("(failed reverse-i-search)`rows!': total = sum(rows)");
  expect(search("tot\u0012\u0012\u0012").text).toBe("(failed reverse-i-search)`tot': total = 0");
});

test("backspace shortens the text and searches again from the newest line", () => {
  expect(search("rows =\u007f\u007f").text).toBe("(reverse-i-search)`rows': total = sum(rows)");
});

test("Enter and arrows take the match, and act on it", () => {
  expect(search("rows =\r").step).toEqual({ kind: "accepted", line: "rows = [1]", keys: "\r" });
  expect(search("rows =\u001b[D").step).toEqual({ kind: "accepted", line: "rows = [1]", keys: "\u001b[D" });
});

test.each(["\u0003", "\u0007", "\u001b"])("the key %j cancels a search", (key) => {
  expect(search(`tot${key}`).step).toEqual({ kind: "cancelled" });
});
