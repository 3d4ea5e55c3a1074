import type { IncomingMessage, ServerResponse } from "node:http";
import type { LmMessage, LmStop, LmUsage } from "../../src/llm/client.ts";
import type { ScriptedAnswer, SeenRequest } from "./scripted-model-server.ts";

export type WireFormat = "anthropic" | "openai";

type Read = Omit<SeenRequest, "index"> | { readonly status: number; readonly refusal: string };
type Body = Readonly<Record<string, unknown>>;

/** Reads a request, or refuses it as the real API would. */
export function readRequest(format: WireFormat, incoming: IncomingMessage, text: string, key: string): Read {
  const path = format === "anthropic" ? "/v1/messages" : "/v1/chat/completions";
  if (incoming.method !== "POST" || incoming.url !== path)
    return { status: 404, refusal: `no such path: ${incoming.url}` };
  const { headers } = incoming;
  const sent = format === "anthropic" ? headers["x-api-key"] : headers.authorization?.replace(/^Bearer /, "");
  if (sent !== key) return { status: 401, refusal: `invalid key: ${String(sent)}` };
  if (format === "anthropic" && headers["anthropic-version"] !== "2023-06-01")
    return { status: 400, refusal: "anthropic-version is required" };
  const body = JSON.parse(text) as Body;
  const messages = body.messages as { role: string; content: string | { text: string; cache_control?: object }[] }[];
  const maxTokens = body.max_tokens ?? body.max_completion_tokens;
  if (typeof maxTokens !== "number") return { status: 400, refusal: "max_tokens: a limit is required" };
  if (!Array.isArray(messages) || messages.length === 0)
    return { status: 400, refusal: "messages: at least one is required" };
  const turns = messages.filter(({ role }) => role !== "system");
  if (turns.at(-1)?.role !== "user") return { status: 400, refusal: "messages: the last one must be the user's" };
  const textOf = (content: (typeof messages)[number]["content"]) =>
    typeof content === "string" ? content : content.map((block) => block.text).join("");
  const system = format === "anthropic" ? body.system : messages.find(({ role }) => role === "system")?.content;
  return {
    model: String(body.model),
    system: system === undefined ? undefined : String(system),
    messages: turns.map(({ role, content }) => ({ role: role as LmMessage["role"], text: textOf(content) })),
    maxTokens,
    temperature: body.temperature as number | undefined,
    stop: (body.stop_sequences ?? body.stop ?? []) as string[],
    cacheBreakpoints: turns.flatMap(({ content }, index) =>
      typeof content !== "string" && content.some((block) => block.cache_control !== undefined) ? [index] : [],
    ),
    headers,
    body,
  };
}

/** The body of an answer. */
export function writeAnswer(format: WireFormat, answer: Omit<ScriptedAnswer, "after">, request: SeenRequest): string {
  const usage = answer.usage === null ? undefined : { ...guessedUsage(answer.text, request), ...answer.usage };
  const { stop = "end", text } = answer;
  return JSON.stringify(
    format === "anthropic" ? message(text, stop, usage, request) : completion(text, stop, usage, request),
  );
}

/** One token per four characters. */
function guessedUsage(text: string, { system = "", messages }: SeenRequest): LmUsage {
  const characters = messages.reduce((sum, one) => sum + one.text.length, system.length);
  return {
    ...{ inputTokens: Math.ceil(characters / 4), outputTokens: Math.ceil(text.length / 4) },
    ...{ cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  };
}

function message(text: string, stop: LmStop, usage: LmUsage | undefined, request: SeenRequest): object {
  const stops = { end: "end_turn", max_tokens: "max_tokens", refusal: "refusal", other: "pause_turn" };
  return {
    ...{ id: `msg_scripted_${request.index}`, type: "message", role: "assistant", model: request.model },
    content: text === "" ? [] : [{ type: "text", text }],
    ...{ stop_reason: stops[stop], stop_sequence: null },
    ...(usage && {
      usage: {
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        cache_read_input_tokens: usage.cacheReadTokens,
        cache_creation_input_tokens: usage.cacheWriteTokens,
        output_tokens_details: { thinking_tokens: usage.reasoningTokens },
      },
    }),
  };
}

function completion(text: string, stop: LmStop, usage: LmUsage | undefined, request: SeenRequest): object {
  const stops = { end: "stop", max_tokens: "length", refusal: "stop", other: "tool_calls" };
  const said = stop === "refusal" ? { content: null, refusal: text } : { content: text, refusal: null };
  const prompt = usage && usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return {
    ...{ id: `chatcmpl-scripted-${request.index}`, object: "chat.completion", model: request.model },
    choices: [{ index: 0, message: { role: "assistant", ...said }, finish_reason: stops[stop] }],
    ...(usage && {
      usage: {
        prompt_tokens: prompt,
        completion_tokens: usage.outputTokens,
        total_tokens: (prompt ?? 0) + usage.outputTokens,
        prompt_tokens_details: { cached_tokens: usage.cacheReadTokens, cache_write_tokens: usage.cacheWriteTokens },
        completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
      },
    }),
  };
}

interface WireError {
  readonly status: number;
  readonly message?: string;
  readonly retryAfter?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function writeError(format: WireFormat, response: ServerResponse, error: WireError): void {
  const { status, message = `scripted status ${status}`, retryAfter, headers } = error;
  const extra = { ...(retryAfter !== undefined && { "retry-after": retryAfter }), ...headers };
  response.writeHead(status, { "content-type": "application/json", ...extra });
  const body = { type: "scripted_error", message };
  response.end(JSON.stringify(format === "anthropic" ? { type: "error", error: body } : { error: body }));
}
