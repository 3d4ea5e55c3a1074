import { z } from "zod";
import type { LmClient, LmRequest, LmResponse, LmStop } from "../client.ts";
import { bareName } from "../model-name.ts";
import { clientDefaults, type HttpClientOptions } from "./client-options.ts";
import { checkedKey, endpoint } from "./endpoint.ts";
import { estimatedUsage } from "./estimated-usage.ts";
import { malformed, postJson } from "./post-json.ts";
import { errorHider, secretHider, withoutSecrets } from "./secret-hider.ts";

/** Options of `anthropicClient`. */
export interface AnthropicOptions extends HttpClientOptions {
  readonly apiKey: string;
}

const standardUrl = "https://api.anthropic.com";

/** A client for the Anthropic Messages API. */
export function anthropicClient(options: AnthropicOptions): LmClient {
  const apiKey = checkedKey(options.apiKey, "Anthropic");
  const place = endpoint("anthropic", options.baseUrl ?? standardUrl, standardUrl, apiKey);
  const hide = secretHider(place.secrets);
  const hideInErrors = errorHider(hide);
  const who = "the Anthropic API";
  return {
    name: place.name,
    async complete(request, { signal }) {
      const { json, headers } = await postJson({
        url: place.at("/v1/messages"),
        headers: { "x-api-key": apiKey, "anthropic-version": "2023-06-01" },
        body: messagesBody(request),
        fetch: options.fetch ?? globalThis.fetch,
        timeoutMs: options.timeoutMs ?? clientDefaults.timeoutMs,
        maxResponseBytes: options.maxResponseBytes ?? clientDefaults.maxResponseBytes,
        hide: hideInErrors,
        ...{ signal, who },
      });
      const answer = answerSchema.safeParse(json);
      if (!answer.success) throw malformed(who, "it is not a message", hideInErrors(z.prettifyError(answer.error)));
      const response = messagesResponse(answer.data, request, headers.get("request-id"));
      return withoutSecrets(response, hide);
    },
  };
}

/** Pure: a request in, the body of the HTTP request out. */
export function messagesBody(request: LmRequest): Record<string, unknown> {
  const { model, system, messages, maxTokens, temperature, cachePrefix = false, stop } = request;
  return {
    model: bareName(model),
    max_tokens: maxTokens,
    ...(system !== undefined && system !== "" && { system }),
    messages: messages.map(({ role, text }, index) => ({
      role,
      // a breakpoint on the last message: the next turn, which appends to these messages, reads them from the cache
      content:
        cachePrefix && index === messages.length - 1
          ? [{ type: "text", text, cache_control: { type: "ephemeral" } }]
          : text,
    })),
    ...(temperature !== undefined && { temperature }),
    ...(stop?.length && { stop_sequences: stop }),
  };
}

const tokens = z.number().int().nonnegative();
const answerSchema = z.object({
  id: z.string().optional(),
  content: z.array(z.object({ type: z.string(), text: z.string().optional() })),
  stop_reason: z.string().nullish(),
  usage: z
    .object({
      input_tokens: tokens,
      output_tokens: tokens,
      cache_read_input_tokens: tokens.nullish(),
      cache_creation_input_tokens: tokens.nullish(),
      output_tokens_details: z.object({ thinking_tokens: tokens.nullish() }).nullish(),
    })
    .optional()
    .catch(undefined),
});

const stops: Readonly<Record<string, LmStop>> = {
  end_turn: "end",
  stop_sequence: "end",
  max_tokens: "max_tokens",
  model_context_window_exceeded: "max_tokens",
  refusal: "refusal",
};

function messagesResponse(
  { id, content, stop_reason, usage }: z.output<typeof answerSchema>,
  request: LmRequest,
  headerId: string | null,
): LmResponse {
  const requestId = headerId ?? id;
  return {
    text: content.flatMap(({ type, text = "" }) => (type === "text" ? [text] : [])).join(""),
    stop: (Object.hasOwn(stops, stop_reason ?? "") && stops[stop_reason ?? ""]) || "other",
    ...(usage
      ? {
          usage: {
            inputTokens: usage.input_tokens,
            outputTokens: usage.output_tokens,
            cacheReadTokens: usage.cache_read_input_tokens ?? 0,
            cacheWriteTokens: usage.cache_creation_input_tokens ?? 0,
            reasoningTokens: usage.output_tokens_details?.thinking_tokens ?? 0,
          },
        }
      : estimatedUsage(request)),
    ...(requestId !== undefined && { requestId }),
  };
}
