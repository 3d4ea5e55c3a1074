import { CodecellError } from "../../lib/errors.ts";
import type { LmClient } from "../client.ts";
import { type Provider, providerOf } from "../model-name.ts";
import { anthropicClient } from "./anthropic.ts";
import type { HttpClientOptions } from "./client-options.ts";
import { openAiClient } from "./openai.ts";

/** The name of a model: `anthropic/claude-…`, `openai/gpt-…`, or a bare name. */
export type ModelRef = string;

/** The models that this host can call. */
export interface ModelSetup {
  readonly root?: ModelRef;
  /** the model for sub-calls; the root's, unless set */
  readonly sub?: ModelRef;
  /** The client for a model. Throws `model_unavailable` without a key. */
  clientFor(model: string): LmClient;
}

/** Reads the variables that the vendors' own SDKs read, and ours. Pure over the record; keys stay in the clients. */
export function modelsFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  options: Omit<HttpClientOptions, "baseUrl"> = {},
): ModelSetup {
  const clients = new Map<Provider, LmClient>();
  const root = env.CODECELL_MODEL || undefined;
  const sub = env.CODECELL_SUB_MODEL || root;
  const make: Readonly<Record<Provider, () => LmClient>> = {
    anthropic: () => {
      const { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: baseUrl } = env;
      if (!apiKey) throw noKey("anthropic", "ANTHROPIC_API_KEY");
      return anthropicClient({ ...options, apiKey, ...(baseUrl && { baseUrl }) });
    },
    openai: () => {
      const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl } = env;
      if (!apiKey && !baseUrl)
        throw noKey("openai", "OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs no key");
      return openAiClient({ ...options, ...(apiKey && { apiKey }), ...(baseUrl && { baseUrl }) });
    },
  };
  return {
    ...(root !== undefined && { root }),
    ...(sub !== undefined && { sub }),
    clientFor(model) {
      const provider = providerOf(model);
      const client = clients.get(provider) ?? make[provider]();
      clients.set(provider, client);
      return client;
    },
  };
}

function noKey(provider: Provider, variables: string): CodecellError {
  return new CodecellError("model_unavailable", `there is no key for ${provider} models`, {
    hint: `set ${variables} in the environment of codecell`,
    details: { reason: "key", provider },
  });
}
