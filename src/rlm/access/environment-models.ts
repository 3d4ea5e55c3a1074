import { readFile } from "node:fs/promises";
import * as z from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { modelsFromEnvironment } from "../../llm/clients/models-from-environment.ts";
import type { Prices } from "../../llm/money/prices.ts";
import type { Policy } from "../../policy/schema.ts";
import { ModelAccess, type OpenModelsOptions } from "./model-access.ts";

const rate = z.number().nonnegative();
const rates = { input: rate, output: rate, cacheRead: rate, cacheWrite: rate };
const pricesFile = z.record(
  z.string(),
  z.strictObject({
    ...rates,
    longPrompt: z.strictObject({ ...rates, aboveTokens: z.int().positive() }).optional(),
  }),
);

/** The models and prices that the environment names, under a policy. */
export async function openModels(
  env: Readonly<Record<string, string | undefined>>,
  policy: () => Policy,
  options?: OpenModelsOptions,
): Promise<ModelAccess> {
  const { callTimeoutMs } = policy().llm;
  const models = modelsFromEnvironment(env, { timeoutMs: callTimeoutMs });
  const prices = env.CODECELL_PRICES ? await readPrices(env.CODECELL_PRICES) : undefined;
  return ModelAccess.open(policy, prices ? { ...models, prices } : models, options);
}

async function readPrices(path: string): Promise<Prices> {
  try {
    return pricesFile.parse(JSON.parse(await readFile(path, "utf8"))) as Prices;
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause) : (cause as Error).message;
    throw new CodecellError("usage", `the file of prices ${path} cannot be used: ${why}`, {
      hint: 'write {"my-model": {"input": 1, "output": 5, "cacheRead": 0.1, "cacheWrite": 1.25}}, in US dollars per million tokens',
      cause,
    });
  }
}
