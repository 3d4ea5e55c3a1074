import { describe, expect, test } from "vitest";
import { noUsage } from "../usage.ts";
import { builtInPrices, pricesTakenOn } from "./price-table.ts";
import { assertPriced, charged, cost, freeOfCharge, priceOf, worstCase } from "./prices.ts";

const price = { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 };
const request = { model: "m", messages: [{ role: "user" as const, text: "x".repeat(1000) }], maxTokens: 100 };

describe("prices", () => {
  test("the cost of an answer prices every kind of token, and reasoning only once", () => {
    const usage = {
      ...{ inputTokens: 1_000_000, outputTokens: 100_000, cacheReadTokens: 500_000 },
      ...{ cacheWriteTokens: 200_000, reasoningTokens: 90_000 },
    };
    expect(cost(usage, price)).toBeCloseTo(2 + 1 + 0.05 + 0.5, 12);
    expect(charged(usage, price).tokens).toBe(1_800_000);
  });

  test("a long prompt costs the rates for long prompts, cached tokens included in its length", () => {
    const haiku = priceOf("claude-haiku-5-5");
    const usage = { ...noUsage, inputTokens: 50_000, cacheReadTokens: 50_001 };
    expect(haiku && cost(usage, haiku)).toBeCloseTo((50_000 * 0.5 + 50_001 * 0.05) / 1e6, 12);
    expect(haiku && cost({ ...usage, cacheReadTokens: 50_000 }, haiku)).toBeCloseTo((50_000 * 0.11) / 1e6, 12);
  });

  test("a model is found with its provider and with a date, and a variant of it is not", () => {
    expect(priceOf("anthropic/claude-haiku-4-5-20251001")).toEqual(builtInPrices["claude-haiku-4-5"]);
    expect(priceOf("openai/gpt-6.1-sol-2026-09-29")).toEqual(builtInPrices["gpt-6.1-sol"]);
    expect(priceOf("gpt-6.1-sol-pro")).toBeUndefined();
    expect(priceOf("constructor")).toBeUndefined();
  });

  test("the user's price wins over the built-in one", () => {
    expect(priceOf("anthropic/claude-opus-5-5", { "claude-opus-5-5": freeOfCharge })).toBe(freeOfCharge);
  });

  test("every built-in price is a positive number, and the table has a date", () => {
    for (const model of Object.keys(builtInPrices)) assertPriced([model], { usd: 1 });
    const rates = Object.values(builtInPrices).flatMap(({ longPrompt, ...rest }) => Object.values(rest));
    expect(rates.every((rate) => rate > 0)).toBe(true);
    expect(pricesTakenOn).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  });

  test("the worst case assumes that every input token is of the dearest kind, and an answer of full length", () => {
    const { tokens, usd } = worstCase(request, price);
    expect(tokens).toBeGreaterThanOrEqual(1100);
    expect(usd).toBeCloseTo(((tokens - 100) * 2.5 + 100 * 10) / 1e6, 12);
  });

  test("the worst case of a prompt that may be long uses the rates for long prompts", () => {
    const long = { ...price, longPrompt: { aboveTokens: 999, input: 20, output: 100, cacheRead: 1, cacheWrite: 25 } };
    expect(worstCase(request, long).usd).toBeCloseTo(worstCase(request, price).usd * 10, 12);
  });

  test("a money cap is refused at the start if a model has no price, and the error says what to do", () => {
    expect(() => assertPriced(["claude-opus-5-5", "my-model"], { usd: 1 })).toThrow(
      expect.objectContaining({
        code: "model_unavailable",
        message: "there is a money cap, but no price for my-model",
        hint: expect.stringContaining("--prices FILE"),
      }),
    );
    assertPriced(["my-model"], { tokens: 1000 });
    assertPriced(["my-model"], { usd: 1 }, { "my-model": freeOfCharge });
  });

  test("a negative price is refused: it would refill the budget", () => {
    const prices = { evil: { ...price, output: -1 } };
    expect(() => assertPriced(["evil"], { usd: 1 }, prices)).toThrow(expect.objectContaining({ code: "usage" }));
  });
});
