import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import type { LmClient, LmRequest, LmResponse, LmStop, LmUsage } from "../client.ts";
import { bareName } from "../model-name.ts";
import { clientDefaults, type HttpClientOptions } from "./client-options.ts";
import { checkedKey, endpoint } from "./endpoint.ts";
import { estimatedUsage } from "./estimated-usage.ts";
import { malformed, postJson } from "./post-json.ts";
import { errorHider, secretHider, withoutSecrets } from "./secret-hider.ts";

/** Options of `openAiClient`. */
export interface OpenAiOptions extends HttpClientOptions {
  /** Servers on your own machine often need none. */
  readonly apiKey?: string;
}

const standardUrl = "https://api.openai.com/v1";

/** OpenAI refuses the old name of the limit, and some other servers ignore the new one: the answer would have no limit. */
type LimitName = "max_completion_tokens" | "max_tokens";

/** A client for chat completions: OpenAI, and everything that speaks its format (Ollama, vLLM, OpenRouter, Gemini's endpoint). */
export function openAiClient(options: OpenAiOptions = {}): LmClient {
  const apiKey = options.apiKey === undefined ? undefined : checkedKey(options.apiKey, "OpenAI");
  const place = endpoint("openai", options.baseUrl ?? standardUrl, standardUrl, apiKey);
  const hide = secretHider(place.secrets);
  const hideInErrors = errorHider(hide);
  const isOpenAi = new URL(place.at("")).hostname === "api.openai.com";
  const who = isOpenAi ? "the OpenAI API" : "the OpenAI-compatible server";
  const post = (request: LmRequest, limit: LimitName, signal: AbortSignal) =>
    postJson({
      url: place.at("/chat/completions"),
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      body: chatBody(request, limit),
      fetch: options.fetch ?? globalThis.fetch,
      timeoutMs: options.timeoutMs ?? clientDefaults.timeoutMs,
      maxResponseBytes: options.maxResponseBytes ?? clientDefaults.maxResponseBytes,
      hide: hideInErrors,
      ...{ signal, who },
    });
  let limitName: LimitName = isOpenAi ? "max_completion_tokens" : "max_tokens";
  return {
    name: place.name,
    async complete(request, { signal }) {
      const used = limitName;
      const { json, headers } = await post(request, used, signal).catch((error: unknown) => {
        if (used !== "max_tokens" || !wantsNewName(error)) throw error;
        limitName = "max_completion_tokens";
        return post(request, limitName, signal);
      });
      const answer = answerSchema.safeParse(json);
      if (!answer.success)
        throw malformed(who, "it is not a chat completion", hideInErrors(z.prettifyError(answer.error)));
      const response = chatResponse(answer.data, request, headers.get("x-request-id"));
      return withoutSecrets(response, hide);
    },
  };
}

function wantsNewName(error: unknown): boolean {
  return (
    error instanceof CodecellError && error.details.status === 400 && error.message.includes("max_completion_tokens")
  );
}

/** Pure: a request in, the body of the HTTP request out. */
export function chatBody(request: LmRequest, limit: LimitName = "max_completion_tokens"): Record<string, unknown> {
  const { model, system, messages, maxTokens, temperature, stop } = request;
  return {
    model: bareName(model),
    [limit]: maxTokens,
    messages: [
      ...(system !== undefined && system !== "" ? [{ role: "system", content: system }] : []),
      ...messages.map(({ role, text }) => ({ role, content: text })),
    ],
    ...(temperature !== undefined && { temperature }),
    ...(stop?.length && { stop }),
  };
}

const tokens = z.number().int().nonnegative();
const usageSchema = z.object({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  total_tokens: tokens.nullish(),
  prompt_tokens_details: z.object({ cached_tokens: tokens.nullish(), cache_write_tokens: tokens.nullish() }).nullish(),
  completion_tokens_details: z.object({ reasoning_tokens: tokens.nullish() }).nullish(),
});
const answerSchema = z.object({
  id: z.string().optional(),
  choices: z
    .array(
      z.object({
        message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }),
        finish_reason: z.string().nullish(),
      }),
    )
    .min(1),
  usage: usageSchema.nullish().catch(undefined),
});

const stops: Readonly<Record<string, LmStop>> = { stop: "end", length: "max_tokens", content_filter: "refusal" };

function chatResponse(
  { id, choices, usage }: z.output<typeof answerSchema>,
  request: LmRequest,
  headerId: string | null,
): LmResponse {
  const [choice] = choices;
  const { content, refusal } = choice?.message ?? {};
  const reason = choice?.finish_reason ?? "";
  const requestId = headerId ?? id;
  return {
    text: content ?? refusal ?? "",
    stop: refusal ? "refusal" : (Object.hasOwn(stops, reason) && stops[reason]) || "other",
    ...(usage ? { usage: chatUsage(usage) } : estimatedUsage(request)),
    ...(requestId !== undefined && { requestId }),
  };
}

function chatUsage(usage: z.output<typeof usageSchema>): LmUsage {
  const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } = usage;
  const cacheReadTokens = Math.min(prompt_tokens_details?.cached_tokens ?? 0, prompt_tokens);
  const cacheWriteTokens = Math.min(prompt_tokens_details?.cache_write_tokens ?? 0, prompt_tokens - cacheReadTokens);
  // Some servers leave reasoning out of the completion, though not out of the total, which is what they charge.
  const outputTokens = Math.max(completion_tokens, (usage.total_tokens ?? 0) - prompt_tokens);
  return {
    inputTokens: prompt_tokens - cacheReadTokens - cacheWriteTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens: completion_tokens_details?.reasoning_tokens ?? 0,
  };
}
