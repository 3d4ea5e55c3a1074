import { CodecellError } from "../../lib/errors.ts";
import type { Amount, Caps } from "../budget/amounts.ts";
import type { LmRequest, LmUsage } from "../client.ts";
import { bareName } from "../model-name.ts";
import { inputUpperBound, promptTokens, totalTokens } from "../usage.ts";
import { builtInPrices } from "./price-table.ts";

/** US dollars per million tokens of each kind. */
export interface Rates {
  readonly input: number;
  /** reasoning included */
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** The price of a model. */
export interface Price extends Rates {
  /** what the whole request costs if its prompt is longer than this */
  readonly longPrompt?: Rates & { readonly aboveTokens: number };
}

/** Prices by the name of the model, with or without its provider. */
export type Prices = Readonly<Record<string, Price>>;

/** For models on your own machines. */
export const freeOfCharge: Price = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

const dateSuffix = /-\d{8}$|-\d{4}-\d{2}-\d{2}$/;

/**
 * The price of a model: the user's own first, then the built-in table. Names must match, apart from the provider and a date at the
 * end. The attack on a looser match: a variant that costs ten times as much passes under the price of its family.
 */
export function priceOf(model: string, prices: Prices = {}): Price | undefined {
  const names = [model, bareName(model), bareName(model).replace(dateSuffix, "")];
  for (const table of [prices, builtInPrices]) {
    const name = names.find((one) => Object.hasOwn(table, one));
    if (name !== undefined) return table[name];
  }
  return undefined;
}

/** What an answer costs, in US dollars. */
export function cost(usage: LmUsage, price: Price): number {
  const { longPrompt } = price;
  const rates = longPrompt && promptTokens(usage) > longPrompt.aboveTokens ? longPrompt : price;
  const sum =
    usage.inputTokens * rates.input +
    usage.outputTokens * rates.output +
    usage.cacheReadTokens * rates.cacheRead +
    usage.cacheWriteTokens * rates.cacheWrite;
  return sum / 1e6;
}

/** What a call is charged. Without a price it is charged no money, which `assertPriced` refuses under a money cap. */
export function charged(usage: LmUsage, price: Price | undefined): Amount {
  return { calls: 1, tokens: totalTokens(usage), usd: price ? cost(usage, price) : 0 };
}

/** The most that a call can be charged: every byte a token, every input token of the dearest kind, and the longest answer. */
export function worstCase(request: LmRequest, price: Price | undefined): Amount {
  const inputTokens = inputUpperBound(request);
  const tokens = inputTokens + request.maxTokens;
  if (!price) return { calls: 1, tokens, usd: 0 };
  const { longPrompt } = price;
  const bands: Rates[] = longPrompt && inputTokens > longPrompt.aboveTokens ? [price, longPrompt] : [price];
  const usd = bands.map(
    ({ input, output, cacheRead, cacheWrite }) =>
      inputTokens * Math.max(input, cacheRead, cacheWrite) + request.maxTokens * output,
  );
  return { calls: 1, tokens, usd: Math.max(...usd) / 1e6 };
}

/** Refuses a money cap that could not be kept: it would never count a model without a price. */
export function assertPriced(models: readonly string[], caps: Caps, prices: Prices = {}): void {
  for (const [name, price] of Object.entries(prices)) checkRates(name, price);
  if (caps.usd === undefined) return;
  const unpriced = models.filter((model) => priceOf(model, prices) === undefined);
  if (unpriced.length === 0) return;
  throw new CodecellError("model_unavailable", `there is a money cap, but no price for ${unpriced.join(", ")}`, {
    hint: "give its price (--prices FILE, or CODECELL_PRICES), use a model that has one, or set llm.usd (`codecell rlm run --max-usd`) to unlimited and keep the cap on tokens",
    details: { reason: "no_price", models: unpriced },
  });
}

function checkRates(name: string, price: Price): void {
  const all = [price, ...(price.longPrompt ? [price.longPrompt] : [])];
  const rates = all.flatMap(({ input, output, cacheRead, cacheWrite }) => [input, output, cacheRead, cacheWrite]);
  if (rates.every((rate) => Number.isFinite(rate) && rate >= 0)) return;
  throw new CodecellError("usage", `the price of ${name} is not valid: every rate must be a number from 0`, {
    hint: "give input, output, cacheRead and cacheWrite in US dollars per million tokens",
  });
}
