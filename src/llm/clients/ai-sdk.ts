import { CodecellError, messageOf } from "../../lib/errors.ts";
import { aborted } from "../../lib/waiting/aborted.ts";
import { DeadlinePassed, deadline } from "../../lib/waiting/deadline.ts";
import type { LmClient, LmRequest, LmResponse, LmStop, LmUsage } from "../client.ts";
import { clientDefaults } from "./client-options.ts";
import { estimatedUsage } from "./estimated-usage.ts";
import { failureError } from "./failure.ts";
import { failureOfConnection, failureOfStatus } from "./http-failure.ts";
import { errorHider, secretHider, withoutSecrets } from "./secret-hider.ts";

/** What is used of a `LanguageModelV3` or `V4` of an AI SDK provider package. */
export interface AiSdkModel {
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: AiSdkCall): PromiseLike<AiSdkResult>;
}

/** What is sent to it. Compatible with the call options of both versions. */
export interface AiSdkCall {
  // biome-ignore lint/suspicious/noExplicitAny: the prompt's type differs between versions, and this one is assignable to each
  readonly prompt: any;
  readonly maxOutputTokens: number;
  readonly temperature?: number;
  readonly stopSequences?: string[];
  readonly abortSignal: AbortSignal;
}

/** What is read of its result. */
export interface AiSdkResult {
  readonly content: readonly { readonly type: string }[];
  readonly finishReason: string | { readonly unified: string };
  readonly usage?: AiSdkUsage | undefined;
  readonly response?: { readonly id?: string | undefined } | undefined;
}

interface AiSdkUsage {
  readonly inputTokens: {
    readonly total: number | undefined;
    readonly noCache?: number | undefined;
    readonly cacheRead?: number | undefined;
    readonly cacheWrite?: number | undefined;
  };
  readonly outputTokens: { readonly total: number | undefined; readonly reasoning?: number | undefined };
}

/** Options of `fromAiSdk`. */
export interface AiSdkOptions {
  /** for one attempt, in milliseconds */
  readonly timeoutMs?: number;
  /** keys that the model was made with, so that they can be hidden in its errors */
  readonly secrets?: readonly string[];
}

/** Makes a client of a model of an AI SDK provider package. Calls `doGenerate` only, so the `ai` package is not needed. */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): LmClient {
  const { timeoutMs = clientDefaults.timeoutMs } = options;
  const hide = secretHider(options.secrets ?? []);
  const who = `${model.provider} (${model.modelId})`;
  return {
    name: `ai-sdk:${model.provider}:${model.modelId}`,
    async complete(request, { signal }) {
      if (signal.aborted) throw aborted(signal);
      using limit = deadline(timeoutMs, signal);
      try {
        const response = sdkResponse(await model.doGenerate(sdkCall(request, limit.signal)), request);
        return withoutSecrets(response, hide);
      } catch (error) {
        if (signal.aborted) throw aborted(signal);
        if (limit.signal.reason instanceof DeadlinePassed)
          throw failureError(`${who} did not answer within ${timeoutMs} ms`, {
            ...{ reason: "timeout", isRetryable: true, mayBeCharged: true },
          });
        throw sdkError(error, who, errorHider(hide));
      }
    },
  };
}

/** Pure: a request in, the options of `doGenerate` out. */
export function sdkCall(request: LmRequest, abortSignal: AbortSignal): AiSdkCall {
  const { system, messages, maxTokens, temperature, cachePrefix = false, stop } = request;
  const cached = { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } };
  return {
    prompt: [
      ...(system !== undefined && system !== "" ? [{ role: "system", content: system }] : []),
      ...messages.map(({ role, text }, index) => ({
        role,
        content: [{ type: "text", text }],
        ...(cachePrefix && index === messages.length - 1 && cached),
      })),
    ],
    maxOutputTokens: maxTokens,
    ...(temperature !== undefined && { temperature }),
    ...(stop?.length && { stopSequences: [...stop] }),
    abortSignal,
  };
}

const stops: Readonly<Record<string, LmStop>> = { stop: "end", length: "max_tokens", "content-filter": "refusal" };

function sdkResponse({ content, finishReason, usage, response }: AiSdkResult, request: LmRequest): LmResponse {
  const reason = typeof finishReason === "string" ? finishReason : finishReason.unified;
  const texts = content.flatMap((part) => ("text" in part && part.type === "text" ? [String(part.text)] : []));
  const known = sdkUsage(usage);
  return {
    text: texts.join(""),
    stop: (Object.hasOwn(stops, reason) && stops[reason]) || "other",
    ...(known ? { usage: known } : estimatedUsage(request)),
    ...(response?.id !== undefined && { requestId: response.id }),
  };
}

function sdkUsage(usage: AiSdkUsage | undefined): LmUsage | undefined {
  const { total: input, cacheRead = 0, cacheWrite = 0, noCache } = usage?.inputTokens ?? {};
  const { total: output, reasoning = 0 } = usage?.outputTokens ?? {};
  // Not only undefined: arithmetic takes null for 0, and the prompt would be free.
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  const found = {
    // the total is what is charged, also where a provider does not say which part is uncached
    inputTokens: Math.max(noCache ?? 0, input - cacheRead - cacheWrite),
    outputTokens: output,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: reasoning,
  };
  return Object.values(found).every((count) => Number.isSafeInteger(count) && count >= 0) ? found : undefined;
}

/** Errors of the SDK carry the request, the headers and the body along, so nothing but their text is kept. */
function sdkError(error: unknown, who: string, hide: (text: string) => string): CodecellError {
  if (error instanceof CodecellError) return error;
  const { statusCode, responseHeaders, responseBody, cause } = error as {
    statusCode?: unknown;
    responseHeaders?: Record<string, string>;
    responseBody?: unknown;
    cause?: { code?: unknown };
  };
  const text = hide(messageOf(error)).slice(0, 300);
  if (typeof statusCode === "number" && statusCode >= 300) {
    const failure = failureOfStatus(statusCode, new Headers(responseHeaders), String(responseBody ?? ""));
    return failureError(`${who} answered ${statusCode}: ${text}`, failure);
  }
  const code = typeof cause?.code === "string" ? cause.code : "";
  return failureError(`${who} failed: ${text}`, failureOfConnection(code, statusCode !== undefined));
}
