import { expect, test } from "vitest";
import { allowsModel, modelGlobCovers } from "./model-glob.ts";

test.each([
  [["anthropic/*"], "claude-sonnet-4-5", true],
  [["claude-*"], "anthropic/claude-sonnet-4-5", true],
  [["gpt-5"], "openai/gpt-5", true],
  [["gpt-5"], "gpt-5-mini", false],
  [["meta/llama-*"], "openai/meta/llama-3:free", true],
  [["*"], "anything/at-all", true],
  [["*/claude-*"], "claude-opus", true],
  // a model of one provider is not allowed because another provider has one of the same name
  [["claude-*"], "openai/claude-opus", false],
  [["openai/*"], "claude-opus", false],
  [["gpt-5"], "GPT-5", false],
  [["gpt.5"], "gpt-5", false],
  [[], "gpt-5", false],
  // a glob in the place of a model matches nothing
  [["*"], "*", false],
  [["gpt-5*"], "gpt-5*", false],
])("llm.models %j and the model %s: %s", (globs, model, isAllowed) => {
  expect(allowsModel(globs, model)).toBe(isAllowed);
});

test.each([
  ["*", "claude-*", true],
  ["claude-*", "anthropic/claude-haiku-*", true],
  ["claude-*", "anthropic/claude-*-4", true],
  ["claude-*-4", "claude-*", false],
  ["gpt-5", "gpt-*", false],
  ["anthropic/*", "*", false],
])("the glob %s covers %s: %s", (wide, narrow, covers) => {
  expect(modelGlobCovers(wide, narrow)).toBe(covers);
});
