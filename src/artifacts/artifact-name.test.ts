import { normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { artifactNameProblem, checkArtifactName } from "./artifact-name.ts";

describe("the name of an artifact", () => {
  test.each([
    ...["a", "a.txt", "plots/result.png", "a b/c d", "...", "..a", "a..", ".hidden/x", "-rf", "~", "C:x"],
    ...["größe.csv", "结果/图.png", "👩‍💻.txt", "x".repeat(255), `${"x".repeat(255)}/${"y".repeat(255)}`],
  ])("may be %j", (name) => expect(checkArtifactName(name)).toBe(name));

  test.each([
    ...["", "/", "/a", "//a", "a//b", "a/", ".", "..", "./a", "a/.", "../a", "a/../b", "a/..", "a/./b"],
    ...["a\0b", "a\nb", "a\rb", "\u001b[2Jx", "a\u007f", "a\u0085b", "\\a", "..\\a", "a\\..\\b"],
    ...["a\u202egnp.exe", "a\u2066b", "\u200fa", "a\u2028b", "\ufeffa", "a\u{e0041}", "\ud800", "a\udc00", "a\ufffd"],
    ...["x".repeat(256), "ü".repeat(128), "x/".repeat(600), "x".repeat(5_000_000)],
  ])("may not be %j", (name) => {
    expect(() => checkArtifactName(name)).toThrow(expect.objectContaining({ code: "file_refused" }));
  });

  test.each([undefined, null, 7, {}, ["a"]])("must be text, not %j", (name) => {
    expect(artifactNameProblem(name)).toBe("a name must be a string");
  });

  test("never leads out of the workspace, whatever it contains", () => {
    const random = seeded(3);
    const pieces = [
      "..",
      ".",
      "/",
      "a",
      "b.c",
      "\\",
      "\0",
      "\n",
      "%2e%2e",
      "\u2024",
      "\uff0e",
      "ä",
      "\u202e",
      "~",
      " ",
    ];
    let accepted = 0;
    for (let round = 0; round < 20_000; round++) {
      const length = 1 + Math.floor(random() * 8);
      const name = Array.from({ length }, () => pieces[Math.floor(random() * pieces.length)]).join("");
      if (artifactNameProblem(name) !== undefined) continue;
      accepted++;
      expect(normalize(`/root/${name}`)).toBe(`/root/${name}`);
      expect(name.split("/")).not.toContain("..");
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
      expect(name).not.toMatch(/[\u0000-\u001f\u007f\u202e\\]/);
    }
    expect(accepted).toBeGreaterThan(1000);
  });

  test("is made safe to print in the error that refuses it", () => {
    const print = (name: string) => {
      try {
        return checkArtifactName(name);
      } catch (error) {
        return (error as Error).message;
      }
    };
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
    for (const name of ["\u001b[2J", "a\nb", "\u202ex"]) expect(print(name)).not.toMatch(/[\u0000-\u001f\u202e]/);
    expect(print("x".repeat(1_000_000)).length).toBeLessThan(300);
  });
});

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
