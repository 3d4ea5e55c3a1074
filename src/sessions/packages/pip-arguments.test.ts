import { describe, expect, test } from "vitest";
import { pipRequirements } from "./pip-arguments.ts";

describe("the words after pip install", () => {
  test("are requirements, and options without an effect here are left out", () => {
    expect(pipRequirements(["-q", "--upgrade", " humanize ", "", "pandas[excel]>=2,<3"])).toEqual([
      "humanize",
      "pandas[excel]>=2,<3",
    ]);
  });

  test.each([
    ["-r", "requirements.txt"],
    ["-e", "."],
    ["--index-url", "https://evil.example/simple"],
    ["--index-url=https://evil.example/simple", "a"],
    ["--extra-index-url=https://evil.example/simple", "a"],
    ["--pre", "a"],
    ["a==1 --hash=sha256:00"],
    ["a\t-r other.txt"],
  ])("an option that a policy decides is refused: %s", (...words) => {
    expect(() => pipRequirements(words)).toThrow(/is not available inside a session/);
  });

  test.each([[[]], [["-q"]], [[" "]]])("%j names no package", (words) => {
    expect(() => pipRequirements(words)).toThrow("needs the name of a package");
  });
});
