import { expect, test } from "vitest";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { discardedHint } from "./discarded-files.ts";

const strict = parsePolicy({});

test("a program whose files end with its cell gets a hint that names them", () => {
  expect(discardedHint({ artifacts: [], discarded: ["result.csv"] }, strict)).toBe(
    "the program's file was removed with its cell: result.csv. To keep files, use --session NAME or --workspace DIR",
  );
  const many = ["a", "b\n\u001b[2J", "c", "d", "e"];
  expect(discardedHint({ artifacts: [], discarded: many }, strict)).toContain(
    'files were removed with its cell: a, "b\\n\\u001b[2J", c and 2 other files.',
  );
});

test("a program that wrote nothing, only compiled modules, or into a directory of the host gets no hint", () => {
  expect(discardedHint({ artifacts: [] }, strict)).toBeUndefined();
  expect(discardedHint({ artifacts: [], discarded: ["__pycache__/x.pyc"] }, strict)).toBeUndefined();
  const kept = parsePolicy({ fs: { workspace: "/srv/work" } });
  expect(discardedHint({ artifacts: [], discarded: ["result.csv"] }, kept)).toBeUndefined();
});
