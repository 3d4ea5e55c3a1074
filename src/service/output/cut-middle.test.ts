import { describe, expect, test } from "vitest";
import { FakeRandom } from "../../../test/fakes/fake-random.ts";
import { collapseRepeats } from "./collapse-repeats.ts";
import { cutMiddle } from "./cut-middle.ts";

const marker = (leftOut: number, offset: number) => `<${leftOut}@${offset}>`;
const cut = (text: string, room: number, headShare = 0.5) =>
  cutMiddle(collapseRepeats(text), { room, headShare, marker });

describe("cutMiddle", () => {
  test("does not change a text that fits", () => {
    expect(cut("all of it", 9)).toEqual({ text: "all of it", leftOut: 0, head: "all of it", tail: "" });
  });

  test("cuts at line ends if they are near", () => {
    const lines = Array.from({ length: 100 }, (_, index) => `line ${index}\n`).join("");
    const { head, tail, text, leftOut } = cut(lines, 60);
    expect(head).toBe("line 0\nline 1\nline 2\n");
    expect(tail).toBe("line 97\nline 98\nline 99\n");
    expect(text).toBe(`${head}<${leftOut}@21>\n${tail}`);
  });

  test("cuts inside a line that is too long", () => {
    const { head, tail } = cut(`${"a".repeat(500)}\n${"b".repeat(500)}`, 60);
    expect(head).toMatch(/^a{20,}$/);
    expect(tail).toMatch(/^b{20,}$/);
  });

  test("never splits a character", () => {
    for (let room = 14; room < 60; room++) {
      for (const text of ["👍".repeat(100), `x${"👍".repeat(100)}`, `${"👍".repeat(100)}x`]) {
        expect(cut(text, room).text).not.toMatch(/[\ud800-\udfff]/u);
      }
    }
  });

  test("keeps a notice about repeated lines only in full and with its line", () => {
    const text = `${"first\n".repeat(50)}${"filler filler\n".repeat(3)}${"last\n".repeat(60)}the end\n`;
    for (let room = 0; room < 200; room++) {
      const { head, tail } = cut(text, room);
      expect(tail).not.toMatch(/^…/);
      for (const notice of `${head}${tail}`.match(/.*…[^\n]*\n?/g) ?? []) {
        expect(notice).toMatch(/^… the line above \d+ more times\n$/);
      }
    }
  });
});

test("cutMiddle returns a head and a tail of the original that fit into the room", () => {
  const random = new FakeRandom(7);
  const pieces = ["a", "word ", "\n", "\n\n", "漢字", "👍", "x".repeat(90), "same line\n".repeat(30)] as const;
  for (let round = 0; round < 2_000; round++) {
    const original = Array.from({ length: random.below(60) }, () => random.pick(pieces)).join("");
    const room = random.below(400);
    const collapsed = collapseRepeats(original);
    const { text, head, tail, leftOut } = cutMiddle(collapsed, { room, headShare: random.below(11) / 10, marker });
    expect(text.length).toBeLessThanOrEqual(Math.max(room, 14));
    expect(collapsed.text.startsWith(head)).toBe(true);
    expect(collapsed.text.endsWith(tail)).toBe(true);
    const found = /<(\d+)@(\d+)>/.exec(text);
    if (!found) expect(text).toBe(collapsed.text);
    else {
      const offset = Number(found[2]);
      expect(expandRepeats(head)).toBe(original.slice(0, offset));
      expect(expandRepeats(tail)).toBe(original.slice(offset + leftOut));
    }
  }
});

/** Undoes `collapseRepeats`. */
function expandRepeats(text: string): string {
  const notice = /([^\n]*\n)… the line above ([\d,]+) more times?\n/g;
  return text.replace(notice, (_, line: string, times: string) => line.repeat(1 + Number(times.replaceAll(",", ""))));
}
