import type { Price, Prices } from "./prices.ts";

/** When the prices below were taken from the providers' public price lists. */
export const pricesTakenOn = "2026-11-17";

/** OpenAI charges the whole request more if its prompt is above 272,000 tokens: double for input, half as much again for output. */
function openAi(input: number, output: number, cacheRead: number, cacheWrite: number): Price {
  const longPrompt = {
    aboveTokens: 272_000,
    ...{ input: input * 2, output: output * 1.5, cacheRead: cacheRead * 2, cacheWrite: cacheWrite * 2 },
  };
  return { input, output, cacheRead, cacheWrite, longPrompt };
}

/**
 * Standard prices of a few current models, in US dollars per million tokens. Cache writes are those with the shortest lifetime, which
 * is what the clients ask for. Models that are missing here need a price from the user before they can run under a money cap.
 */
export const builtInPrices: Prices = {
  "claude-fable-5-1": { input: 10, output: 50, cacheRead: 0.25, cacheWrite: 12.5 },
  "claude-opus-5-5": { input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 },
  "claude-opus-5": { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
  "claude-sonnet-5-5": { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 },
  "claude-sonnet-5": { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 },
  "claude-haiku-5-5": {
    ...{ input: 0.1, output: 0.5, cacheRead: 0.01, cacheWrite: 0.125 },
    longPrompt: { aboveTokens: 100_000, input: 0.5, output: 2.5, cacheRead: 0.05, cacheWrite: 0.625 },
  },
  "claude-haiku-4-5": { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 },
  "gpt-6.1-sol": openAi(2, 10, 0.1, 2.5),
  "gpt-6.1-terra": openAi(1, 5, 0.05, 1.25),
  "gpt-6-sol": openAi(2, 10, 0.2, 2.5),
  "gpt-6-luna": openAi(0.1, 0.5, 0.01, 0.125),
};
