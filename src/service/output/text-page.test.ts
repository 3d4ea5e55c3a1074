import { describe, expect, test } from "vitest";
import { FakeRandom } from "../../../test/fakes/fake-random.ts";
import { maxPageCharacters, textPage } from "./text-page.ts";

describe("a page of text", () => {
  test("can be requested by characters", () => {
    expect(textPage("0123456789", { offset: 3, limit: 4 })).toEqual({
      text: "3456",
      by: "characters",
      offset: 3,
      nextOffset: 7,
      total: 10,
      range: { from: 3, to: 7 },
      isLineCut: false,
    });
  });

  test("can be requested by lines", () => {
    expect(textPage("a\nbb\nccc\nd", { by: "lines", offset: 1, limit: 2 })).toEqual({
      text: "bb\nccc\n",
      by: "lines",
      offset: 1,
      nextOffset: 3,
      total: 4,
      range: { from: 2, to: 9 },
      isLineCut: false,
    });
  });

  test.each(["characters", "lines"] as const)("is empty past the end if requested by %s", (by) => {
    expect(textPage("a\nb\n", { by, offset: 99 })).toMatchObject({ text: "", nextOffset: undefined });
    expect(textPage("", { by })).toMatchObject({ text: "", nextOffset: undefined, total: 0 });
  });

  test("never splits a character, and is never empty before the end", () => {
    expect(textPage("👍👍", { offset: 1, limit: 1 })).toMatchObject({ text: "👍", offset: 0, nextOffset: 2 });
    expect(textPage("a👍b", { offset: 0, limit: 2 })).toMatchObject({ text: "a", nextOffset: 1 });
  });

  test("has a maximum size, and tells where a longer line continues", () => {
    const long = "x".repeat(maxPageCharacters + 5);
    expect(textPage(long, { limit: 10 ** 9 }).text).toHaveLength(maxPageCharacters);
    const page = textPage(`${long}\nnext\n`, { by: "lines", limit: 10 });
    expect(page).toMatchObject({ nextOffset: 1, total: 2, isLineCut: true, range: { from: 0, to: maxPageCharacters } });
    expect(textPage(`short\n${long}`, { by: "lines", limit: 10 })).toMatchObject({ text: "short\n", nextOffset: 1 });
  });

  test.each([{ offset: -1 }, { offset: 0.5 }, { limit: 0 }, { limit: Number.NaN }])(
    "cannot be requested with %j",
    (request) => {
      expect(() => textPage("text", request)).toThrow(expect.objectContaining({ code: "usage" }));
    },
  );
});

test("pages of text in sequence contain the whole text", () => {
  const random = new FakeRandom(5);
  for (let round = 0; round < 500; round++) {
    const pieces = ["a", "word", "\n", "\n\n", "👍", "漢"] as const;
    const text = Array.from({ length: random.below(60) }, () => random.pick(pieces)).join("");
    for (const by of ["characters", "lines"] as const) {
      const read: string[] = [];
      for (let offset: number | undefined = 0; offset !== undefined; ) {
        const page = textPage(text, { by, offset, limit: 1 + random.below(9) });
        expect(page.text).toBe(text.slice(page.range.from, page.range.to));
        read.push(page.text);
        offset = page.nextOffset;
      }
      expect(read.join("")).toBe(text);
    }
  }
});
