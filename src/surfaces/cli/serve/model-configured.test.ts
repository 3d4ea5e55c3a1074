import { expect, test } from "vitest";
import { isModelConfigured } from "./model-configured.ts";

test("no model is configured without a flag, a variable or a key", () => {
  expect(isModelConfigured(undefined, { PATH: "/usr/bin" })).toBe(false);
  expect(isModelConfigured("", { CODECELL_MODEL: " ", ANTHROPIC_API_KEY: "" })).toBe(false);
});

test("a model is configured by a flag, a variable or a key", () => {
  expect(isModelConfigured("claude-haiku", {})).toBe(true);
  expect(isModelConfigured(undefined, { CODECELL_MODEL: "claude-haiku" })).toBe(true);
  expect(isModelConfigured(undefined, { ANTHROPIC_API_KEY: "a-key" })).toBe(true);
});
