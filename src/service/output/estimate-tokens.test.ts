import { expect, test } from "vitest";
import { estimateTokens } from "./estimate-tokens.ts";

test.each([
  ["", 0],
  ["a", 1],
  ["four characters make one", 6],
  ["привет", 3],
  ["漢字仮名", 4],
  ["한국어", 3],
  ["👍", 2],
])("estimateTokens counts %j as %i tokens", (text, tokens) => {
  expect(estimateTokens(text)).toBe(tokens);
});
