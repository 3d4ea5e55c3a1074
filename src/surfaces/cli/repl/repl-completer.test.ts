import { expect, test, vi } from "vitest";
import { completeLine } from "./repl-completer.ts";

type Complete = NonNullable<Parameters<typeof completeLine>[2]>["complete"];

/** A session that offers these texts for whatever follows the last space, dot or quote. */
function offering(...texts: string[]): { complete: Complete } {
  return {
    complete: async (code) => ({
      matches: texts.map((text) => ({ text, kind: "value" as const })),
      start: code.length - (/[^\s.'"(]*$/.exec(code)?.[0].length ?? 0),
      end: code.length,
      truncated: false,
    }),
  };
}

test("Tab in an empty line indents", async () => {
  expect(await completeLine("  ", [], offering("x"))).toEqual([["      "], "  "]);
});

test("Tab completes what the session offers, in the context of the lines above", async () => {
  const complete = vi.fn(offering("price", "print").complete);
  expect(await completeLine("  pri", ["if x:"], { complete })).toEqual([["price", "print"], "pri"]);
  expect(complete).toHaveBeenCalledWith("if x:\n  pri");
});

test("Tab inserts what all completions have in common", async () => {
  expect(await completeLine("p", [], offering("price", "print"))).toEqual([["pri"], "p"]);
});

test("Tab completes commands of the repl, and files in a line of bash", async () => {
  expect(await completeLine("%wh", [], undefined)).toEqual([["who", "whos"], "wh"]);
  const complete = vi.fn(offering("data.csv").complete);
  expect(await completeLine("!cat da", [], { complete })).toEqual([["data.csv"], "da"]);
  expect(complete).toHaveBeenCalledWith("'da");
});

test("a long list is shortened, and escape sequences in it are made visible", async () => {
  const many = Array.from({ length: 300 }, (_, at) => `${String.fromCharCode(97 + (at % 26))}${at}`);
  const [texts] = await completeLine("f(", [], offering(...many));
  expect([texts.length, texts.at(-1)]).toEqual([101, "… 200 more"]);
  expect((await completeLine("f(", [], offering("a\u001b[2J")))[0]).toEqual(["a^[[2J"]);
});

test("Tab offers nothing if the session is busy or does not answer", async () => {
  const busy = { complete: () => Promise.reject(new Error("busy")) };
  expect(await completeLine("pri", [], busy)).toEqual([[], "pri"]);
  const stuck = { complete: () => new Promise<never>(() => {}) };
  expect(await completeLine("pri", [], stuck)).toEqual([[], "pri"]);
});
