import { describe, expect, test } from "vitest";
import { addUsage, inputUpperBound, noUsage, promptCharacters, totalTokens } from "./usage.ts";

const usage = { inputTokens: 1, outputTokens: 20, cacheReadTokens: 300, cacheWriteTokens: 4000, reasoningTokens: 15 };
const prompt = (text: string) => ({ messages: [{ role: "user" as const, text }] });

describe("usage", () => {
  test("usage adds up kind by kind", () => {
    expect(addUsage(usage, usage)).toEqual({
      ...{ inputTokens: 2, outputTokens: 40, cacheReadTokens: 600, cacheWriteTokens: 8000, reasoningTokens: 30 },
    });
    expect(addUsage(usage, noUsage)).toEqual(usage);
  });

  test("reasoning is part of the output and is not counted twice", () => {
    expect(totalTokens(usage)).toBe(4321);
  });

  test("a prompt has at most one token per byte of UTF-8, plus what providers add", () => {
    const base = inputUpperBound(prompt(""));
    expect(inputUpperBound(prompt("a".repeat(100))) - base).toBe(100);
    expect(inputUpperBound(prompt("日本語")) - base).toBe(9);
    expect(inputUpperBound({ ...prompt("a"), system: "bc" }) - base).toBeGreaterThan(3);
  });

  test("characters that tokenizers expand are counted expanded", () => {
    const expanding = "\uFDFA".repeat(100); // three bytes each, 33 after normalization
    expect(inputUpperBound(prompt(expanding)) - inputUpperBound(prompt(""))).toBe(3300);
  });

  test("the size of a prompt counts the system prompt and every message", () => {
    expect(promptCharacters({ ...prompt("abc"), system: "de" })).toBe(5);
  });
});
