import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { CodecellError } from "../../lib/errors.ts";
import type { LmRequest } from "../client.ts";
import { type AiSdkCall, type AiSdkResult, fromAiSdk } from "./ai-sdk.ts";

const request: LmRequest = {
  ...{ model: "any", system: "Be brief", maxTokens: 50, stop: ["END"], cachePrefix: true },
  messages: [{ role: "user", text: "Hi" }],
};
const signal = new AbortController().signal;
const usage = {
  inputTokens: { total: 127, noCache: 7, cacheRead: 100, cacheWrite: 20 },
  outputTokens: { total: 9, text: 5, reasoning: 4 },
};
const result: AiSdkResult = {
  content: [{ type: "reasoning" }, { type: "text", text: "Hello" } as { type: string }],
  finishReason: { unified: "stop" },
  usage,
  response: { id: "r-1" },
};

function model(answer: (call: AiSdkCall) => AiSdkResult | Promise<AiSdkResult>) {
  const calls: AiSdkCall[] = [];
  const doGenerate = async (call: AiSdkCall) => {
    calls.push(call);
    return answer(call);
  };
  return { calls, model: { provider: "acme", modelId: "m-1", doGenerate } };
}

describe("fromAiSdk", () => {
  test("calls doGenerate with the conversation, and maps text, stop and usage", async () => {
    const fake = model(() => result);
    const client = fromAiSdk(fake.model);
    expect(await client.complete(request, { signal })).toEqual({
      ...{ text: "Hello", stop: "end", requestId: "r-1" },
      usage: { inputTokens: 7, outputTokens: 9, cacheReadTokens: 100, cacheWriteTokens: 20, reasoningTokens: 4 },
    });
    expect(fake.calls[0]).toMatchObject({
      prompt: [
        { role: "system", content: "Be brief" },
        {
          role: "user",
          content: [{ type: "text", text: "Hi" }],
          providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
        },
      ],
      ...{ maxOutputTokens: 50, stopSequences: ["END"] },
    });
    expect(client.name).toBe("ai-sdk:acme:m-1");
  });

  test.each([
    ["length", "max_tokens"],
    ["content-filter", "refusal"],
    ["tool-calls", "other"],
  ])("finish reason %s is %s, as a string or as an object", async (unified, stop) => {
    const objects = fromAiSdk(model(() => ({ ...result, finishReason: { unified } })).model);
    const strings = fromAiSdk(model(() => ({ ...result, finishReason: unified })).model);
    expect((await objects.complete(request, { signal })).stop).toBe(stop);
    expect((await strings.complete(request, { signal })).stop).toBe(stop);
  });

  test("assumes the worst case without usage", async () => {
    const unknown = { inputTokens: { total: undefined }, outputTokens: { total: undefined } };
    const client = fromAiSdk(model(() => ({ ...result, usage: unknown })).model);
    expect(await client.complete(request, { signal })).toMatchObject({
      isUsageEstimated: true,
      usage: { outputTokens: 50 },
    });
  });

  test("counts the whole prompt if its parts are less than its total, and assumes the worst case for a total of null", async () => {
    const outputTokens = { total: 5 };
    const parts = { inputTokens: { total: 1000, noCache: 0, cacheRead: 100 }, outputTokens };
    const partial = await fromAiSdk(model(() => ({ ...result, usage: parts })).model).complete(request, { signal });
    expect(partial.usage).toMatchObject({ inputTokens: 900, cacheReadTokens: 100, outputTokens: 5 });
    const nothing = { inputTokens: { total: null as unknown as undefined }, outputTokens };
    const unknown = await fromAiSdk(model(() => ({ ...result, usage: nothing })).model).complete(request, { signal });
    expect(unknown).toMatchObject({ isUsageEstimated: true, usage: { outputTokens: 50 } });
  });

  test("keeps the status and retry-after of an error, and nothing that has keys", async () => {
    const key = "acme-key-0123456789";
    const client = fromAiSdk(
      model(() => {
        throw Object.assign(new Error(`overloaded, key ${key}`), {
          ...{ statusCode: 529, responseHeaders: { "retry-after": "3" } },
          requestBodyValues: { key },
          cause: new Error(key),
        });
      }).model,
      { secrets: [key] },
    );
    const error = await client.complete(request, { signal }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CodecellError);
    expect(error).toMatchObject({ details: { reason: "overloaded", isRetryable: true, retryAfterMs: 3000 } });
    expect(inspect(error, { depth: 9 })).not.toContain(key);
  });

  test("passes an abort on, and reports it as such", async () => {
    const controller = new AbortController();
    const fake = model(
      ({ abortSignal }) =>
        new Promise((_, reject) => abortSignal.addEventListener("abort", () => reject(abortSignal.reason))),
    );
    const call = fromAiSdk(fake.model).complete(request, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(call).rejects.toMatchObject({ code: "aborted" });
    expect(fake.calls[0]?.abortSignal.aborted).toBe(true);
  });
});
