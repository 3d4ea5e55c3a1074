import { describe, expect, test } from "vitest";
import { cpuMsOf } from "../../../test/support/cpu-time.ts";
import { foldPath } from "./deny.ts";
import { compileGlob, globProblem, matchesSegments } from "./glob.ts";

function matches(glob: string, path: string): boolean {
  expect(globProblem(glob)).toBeUndefined();
  return compileGlob(glob).alternatives.some((alternative) => matchesSegments(alternative, foldPath(path)));
}

describe("the glob", () => {
  test.each([
    [".env*", ".env"],
    [".env*", "deep/down/.env.local"],
    [".git/config", "sub/.git/config"],
    [".aws/**", "home/.aws"],
    ["a/**/b", "a/b"],
    ["a/**/b", "x/a/1/2/3/b"],
    ["/top", "top"],
    ["id_{rsa,dsa}*", "id_dsa.pub"],
    ["file?.txt", "file1.txt"],
    ["[a-c]x", "bx"],
    ["[!a-c]x", "dx"],
    ["[]]x", "]x"],
    ["*", "anything"],
    ["dir/", "x/dir"],
    [".SSH", ".ssh"],
    [".ssh", ".SSH"],
    [".ssh", ".\u017fsh"],
    [".git/config", ".g\u200cit/config"],
    ["caf\u00e9", "cafe\u0301"],
  ])("%s matches %s", (glob, path) => expect(matches(glob, path)).toBe(true));

  test.each([
    [".env*", "x.env"],
    [".git/config", ".git/sub/config"],
    ["/top", "sub/top"],
    ["a*b", "a/b"],
    ["file?.txt", "file.txt"],
    ["[a-c]x", "dx"],
    ["[*]", "x"],
    ["a/b", "xa/b"],
  ])("%s does not match %s", (glob, path) => expect(matches(glob, path)).toBe(false));

  test.each([
    ...[
      "",
      "**",
      "/",
      "a\\b",
      "{a",
      "a}",
      "{a,{b,c}}",
      "{a,}",
      "[",
      "[]",
      "[!]",
      "[z-a]",
      "../x",
      "a/./b",
      "!!x",
      "a\nb",
    ],
    ...["x".repeat(257), "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"],
  ])("%j is refused", (glob) => expect(globProblem(glob)).toBeTypeOf("string"));

  test("matcher is quick on globs that would be slow as regular expressions", async () => {
    const spentMs = await cpuMsOf(() => {
      expect(matches("*a".repeat(100), "a".repeat(99))).toBe(false);
      expect(matches("*a".repeat(100).concat("b"), "a".repeat(4000))).toBe(false);
      expect(matches("**/a/".repeat(50).concat("b"), "a/".repeat(2000))).toBe(false);
      expect(matches("**/*a*a*a*b/".repeat(20).concat("c"), `${"a".repeat(200)}/`.repeat(20))).toBe(false);
    });
    expect(spentMs).toBeLessThan(1000);
  });

  test("matcher agrees with a simple recursive one on random globs", () => {
    const random = seeded(7);
    const pick = (letters: string) => letters[Math.floor(random() * letters.length)] ?? "";
    const word = (letters: string, most: number) =>
      Array.from({ length: 1 + Math.floor(random() * most) }, () => pick(letters)).join("");
    for (let round = 0; round < 5000; round++) {
      const glob = `/${word("ab*?", 6)}`;
      const name = word("ab", 6);
      if (glob === "/**") continue;
      expect(`${glob} ${name} ${matches(glob, name)}`).toBe(`${glob} ${name} ${obvious(glob.slice(1), name)}`);
    }
  });
});

function obvious(glob: string, name: string): boolean {
  if (glob === "") return name === "";
  if (glob[0] === "*") return obvious(glob.slice(1), name) || (name !== "" && obvious(glob, name.slice(1)));
  return name !== "" && (glob[0] === "?" || glob[0] === name[0]) && obvious(glob.slice(1), name.slice(1));
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
