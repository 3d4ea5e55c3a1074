import { describe, expect, test } from "vitest";
import { type Script, scriptedKey, startScriptedModelServer } from "../../../test/fakes/scripted-model-server.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { LmClient, LmRequest } from "../client.ts";
import { inputUpperBound } from "../usage.ts";
import { anthropicClient } from "./anthropic.ts";
import type { HttpClientOptions } from "./client-options.ts";
import { openAiClient } from "./openai.ts";

const formats = [
  { format: "anthropic", make: (options: HttpClientOptions) => anthropicClient({ apiKey: scriptedKey, ...options }) },
  { format: "openai", make: (options: HttpClientOptions) => openAiClient({ apiKey: scriptedKey, ...options }) },
] as const;
const request: LmRequest = { model: "m-1", messages: [{ role: "user", text: "Hi" }], maxTokens: 50 };
const signal = new AbortController().signal;

async function failed(client: LmClient): Promise<CodecellError> {
  const error = await client.complete(request, { signal }).then(
    (response) => new Error(`it answered: ${response.text}`),
    (thrown: unknown) => thrown,
  );
  if (error instanceof CodecellError) return error;
  throw error;
}

describe.each(formats)("$format client", ({ format, make }) => {
  async function scripted(script: Script, options: HttpClientOptions = {}) {
    const server = await startScriptedModelServer(format, script);
    return {
      server,
      client: make({ baseUrl: server.url, ...options }),
      [Symbol.asyncDispose]: server[Symbol.asyncDispose],
    };
  }

  test("sends the conversation, the limits and the stop sequences, and returns text and all kinds of usage", async () => {
    const usage = { inputTokens: 7, outputTokens: 9, cacheReadTokens: 100, cacheWriteTokens: 20, reasoningTokens: 4 };
    await using fake = await scripted([{ text: "Hello", usage }]);
    const full: LmRequest = {
      ...{ model: `${format}/m-1`, system: "Be brief", maxTokens: 50, temperature: 0.5, stop: ["END"] },
      messages: [
        { role: "user", text: "Hi" },
        { role: "assistant", text: "Yes?" },
        { role: "user", text: "Go on ✓" },
      ],
    };
    const response = await fake.client.complete(full, { signal });
    expect(response).toMatchObject({ text: "Hello", stop: "end", usage });
    expect(response.isUsageEstimated).toBeUndefined();
    expect(response.requestId).toContain("scripted");
    expect(fake.server.requests).toHaveLength(1);
    expect(fake.server.requests[0]).toMatchObject({
      ...{ model: "m-1", system: "Be brief", messages: full.messages, maxTokens: 50, temperature: 0.5, stop: ["END"] },
      cacheBreakpoints: [],
    });
  });

  test("sends no temperature and no system prompt unless asked to", async () => {
    await using fake = await scripted(["ok"]);
    await fake.client.complete(request, { signal });
    expect(Object.keys(fake.server.requests[0]?.body ?? {}).sort()).toEqual(["max_tokens", "messages", "model"]);
  });

  test.each(["max_tokens", "refusal", "other"] as const)("reports that the model stopped with %s", async (stop) => {
    await using fake = await scripted([{ text: "part", stop }]);
    expect(await fake.client.complete(request, { signal })).toMatchObject({ text: "part", stop });
  });

  test("assumes the worst case if the server does not report usage", async () => {
    await using fake = await scripted([{ text: "Hello", usage: null }]);
    const { usage, isUsageEstimated } = await fake.client.complete(request, { signal });
    expect(isUsageEstimated).toBe(true);
    expect(usage).toMatchObject({ inputTokens: inputUpperBound(request), outputTokens: 50 });
  });

  test("assumes the worst case if the reported usage is negative", async () => {
    await using fake = await scripted([{ text: "Hello", usage: { outputTokens: -5 } }]);
    expect((await fake.client.complete(request, { signal })).isUsageEstimated).toBe(true);
  });

  test.each([
    [429, "model_failed", { reason: "rate_limit", isRetryable: true, mayBeCharged: false }],
    [529, "model_failed", { reason: "overloaded", isRetryable: true, mayBeCharged: false }],
    [500, "model_failed", { reason: "server", isRetryable: true, mayBeCharged: false }],
    [504, "model_failed", { reason: "timeout", isRetryable: true, mayBeCharged: true }],
    [400, "model_failed", { reason: "rejected", isRetryable: false, mayBeCharged: false }],
    [401, "model_unavailable", { reason: "key", isRetryable: false, mayBeCharged: false }],
    [404, "model_unavailable", { reason: "model", isRetryable: false, mayBeCharged: false }],
  ])("status %i is %s, with what it means for the next attempt", async (status, code, details) => {
    await using fake = await scripted([{ fault: "status", status, message: "not today" }]);
    const error = await failed(fake.client);
    expect(error).toMatchObject({ code, details: { ...details, status }, hint: expect.any(String) });
    expect(error.message).toContain("not today");
  });

  test("reads retry-after as seconds, and as a date by the server's own clock", async () => {
    const date = "Tue, 17 Nov 2026 10:00:00 GMT";
    await using fake = await scripted([
      { fault: "status", status: 429, retryAfter: "7" },
      { fault: "status", status: 429, retryAfter: "Tue, 17 Nov 2026 10:00:12 GMT", headers: { date } },
    ]);
    expect((await failed(fake.client)).details.retryAfterMs).toBe(7000);
    expect((await failed(fake.client)).details.retryAfterMs).toBe(12_000);
  });

  test("an account without money is not asked again", async () => {
    await using fake = await scripted([{ fault: "status", status: 429, message: "insufficient_quota" }]);
    expect((await failed(fake.client)).details).toMatchObject({ isRetryable: false });
  });

  test.each([
    ["an answer that breaks off", { fault: "truncated", text: "Hello" }, "truncated"],
    ["an answer that is not JSON", { fault: "malformed", body: "<html>" }, "malformed"],
    ["an answer of another shape", { fault: "malformed", body: '{"hello":1}' }, "malformed"],
    ["a connection that closes", { fault: "reset" }, "network"],
  ] as const)("%s may have been charged, and is asked again", async (_, fault, reason) => {
    await using fake = await scripted([fault]);
    expect(await failed(fake.client)).toMatchObject({
      code: "model_failed",
      details: { reason, isRetryable: true, mayBeCharged: true },
    });
  });

  test("a server that is not there was not charged", async () => {
    const server = await startScriptedModelServer(format, []);
    await server[Symbol.asyncDispose]();
    expect(await failed(make({ baseUrl: server.url }))).toMatchObject({
      message: expect.stringContaining("ECONNREFUSED"),
      details: { reason: "network", mayBeCharged: false },
    });
  });

  test.each([
    ["hangs", { fault: "hang" }],
    ["drips", { fault: "drip", text: "Hello", everyMs: 20 }],
  ] as const)("a server that %s times out, and the connection is closed", async (_, fault) => {
    await using fake = await scripted([fault], { timeoutMs: 150 });
    expect(await failed(fake.client)).toMatchObject({ details: { reason: "timeout", mayBeCharged: true } });
    await fake.server.left(0);
  });

  test("an abort ends the call at once, and the connection is closed", async () => {
    await using fake = await scripted([{ fault: "hang" }]);
    const controller = new AbortController();
    const call = fake.client.complete(request, { signal: controller.signal });
    await fake.server.received(0);
    controller.abort(new Error("enough"));
    await expect(call).rejects.toMatchObject({ code: "aborted" });
    await fake.server.left(0);
  });

  test("an answer over the limit is refused", async () => {
    await using fake = await scripted(["x".repeat(5000)], { maxResponseBytes: 4000 });
    expect(await failed(fake.client)).toMatchObject({ details: { reason: "oversized", isRetryable: false } });
  });
});

describe("anthropic", () => {
  test("puts a cache breakpoint on the last message if asked to", async () => {
    await using server = await startScriptedModelServer("anthropic", ["ok"]);
    const client = anthropicClient({ apiKey: scriptedKey, baseUrl: server.url });
    const messages = [...request.messages, { role: "assistant", text: "a" }, { role: "user", text: "b" }] as const;
    await client.complete({ ...request, messages, cachePrefix: true }, { signal });
    expect(server.requests[0]?.cacheBreakpoints).toEqual([2]);
    expect(server.requests[0]?.messages).toEqual(messages);
  });
});

describe("openai", () => {
  test("uses the new name of the limit for a server that refuses the old one, from then on", async () => {
    await using server = await startScriptedModelServer("openai", ({ body }) =>
      "max_tokens" in body
        ? { fault: "status", status: 400, message: "Unsupported parameter: use 'max_completion_tokens' instead" }
        : "ok",
    );
    const client = openAiClient({ apiKey: scriptedKey, baseUrl: server.url });
    await client.complete(request, { signal });
    await client.complete(request, { signal });
    expect(server.requests.map(({ body }) => Object.keys(body).find((name) => name.startsWith("max_")))).toEqual([
      ...["max_tokens", "max_completion_tokens", "max_completion_tokens"],
    ]);
  });

  test("counts reasoning that a server leaves out of the completion but not out of the total", async () => {
    const body = JSON.stringify({
      choices: [{ message: { content: "x" }, finish_reason: "stop" }],
      usage: {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 45,
        completion_tokens_details: { reasoning_tokens: 30 },
      },
    });
    await using server = await startScriptedModelServer("openai", [{ fault: "malformed", body }]);
    const client = openAiClient({ apiKey: scriptedKey, baseUrl: server.url });
    expect((await client.complete(request, { signal })).usage).toMatchObject({ outputTokens: 35, reasoningTokens: 30 });
  });
});
