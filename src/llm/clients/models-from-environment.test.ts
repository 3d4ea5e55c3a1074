import { describe, expect, test } from "vitest";
import { scriptedKey, startScriptedModelServer } from "../../../test/fakes/scripted-model-server.ts";
import { modelsFromEnvironment } from "./models-from-environment.ts";

const request = { messages: [{ role: "user" as const, text: "Hi" }], maxTokens: 5 };
const signal = new AbortController().signal;

describe("modelsFromEnvironment", () => {
  test("takes the models from CODECELL_MODEL and CODECELL_SUB_MODEL, and the root's for sub-calls otherwise", () => {
    expect(modelsFromEnvironment({})).not.toHaveProperty("root");
    expect(modelsFromEnvironment({ CODECELL_MODEL: "a" })).toMatchObject({ root: "a", sub: "a" });
    expect(modelsFromEnvironment({ CODECELL_MODEL: "a", CODECELL_SUB_MODEL: "b" })).toMatchObject({ sub: "b" });
    expect(modelsFromEnvironment({ CODECELL_MODEL: "" })).not.toHaveProperty("root");
  });

  test.each([
    ["anthropic", "claude-x", "anthropic/claude-x", "other"],
    ["openai", "gpt-x", "openai/gpt-x", "openai/claude-x"],
  ] as const)("reaches %s models with the vendor's variables", async (format, bare, prefixed, another) => {
    await using server = await startScriptedModelServer(format, () => "ok");
    const prefix = format.toUpperCase();
    const setup = modelsFromEnvironment({ [`${prefix}_API_KEY`]: scriptedKey, [`${prefix}_BASE_URL`]: server.url });
    for (const model of [bare, prefixed]) await setup.clientFor(model).complete({ ...request, model }, { signal });
    expect(server.requests.map(({ model }) => model)).toEqual([bare, bare]);
    if (format === "anthropic") expect(() => setup.clientFor(another)).toThrow(/no key for openai models/);
    else expect(setup.clientFor(another)).toBe(setup.clientFor(bare));
  });

  test("a model without a key is unavailable, and the error names the variable", () => {
    expect(() => modelsFromEnvironment({ ANTHROPIC_API_KEY: "" }).clientFor("claude-x")).toThrow(
      expect.objectContaining({ code: "model_unavailable", hint: expect.stringContaining("ANTHROPIC_API_KEY") }),
    );
  });

  test("a local server needs no key", () => {
    const setup = modelsFromEnvironment({ OPENAI_BASE_URL: "http://127.0.0.1:1/v1" });
    expect(setup.clientFor("llama").name).toMatch(/^openai@127\.0\.0\.1:1#/);
  });
});
