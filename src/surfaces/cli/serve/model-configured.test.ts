import { expect, test } from "vitest";
import { isModelConfigured } from "./model-configured.ts";

test("no model is there where nobody named one", () => {
  expect(isModelConfigured(undefined, { PATH: "/usr/bin" })).toBe(false);
  expect(isModelConfigured("", { CODECELL_MODEL: " ", ANTHROPIC_API_KEY: "" })).toBe(false);
});

test("a flag, a variable or a key names one", () => {
  expect(isModelConfigured("claude-haiku", {})).toBe(true);
  expect(isModelConfigured(undefined, { CODECELL_MODEL: "claude-haiku" })).toBe(true);
  expect(isModelConfigured(undefined, { ANTHROPIC_API_KEY: "a-key" })).toBe(true);
});
