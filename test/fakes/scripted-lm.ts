import { type GatewayOptions, LmGateway } from "../../src/llm/calls/gateway.ts";
import type { LmClient, LmRequest, LmResponse } from "../../src/llm/client.ts";
import type { Prices } from "../../src/llm/money/prices.ts";

export type ScriptedReply = string | Partial<LmResponse> | Error;
export type LmScript = (
  request: LmRequest,
  index: number,
  signal: AbortSignal,
) => ScriptedReply | Promise<ScriptedReply>;

/** One dollar per million tokens, so that a test can compute costs. */
export const testPrices: Prices = Object.fromEntries(
  ["root", "sub"].map((model) => [model, { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 }]),
);

/** A model that answers as a test says. It counts a token for four characters. */
export class ScriptedLm implements LmClient {
  readonly name = "scripted";
  readonly requests: LmRequest[] = [];
  readonly #script: LmScript;

  constructor(script: LmScript) {
    this.#script = script;
  }

  /** The requests to one model. */
  to(model: string): LmRequest[] {
    return this.requests.filter((request) => request.model === model);
  }

  async complete(request: LmRequest, { signal }: { signal: AbortSignal }): Promise<LmResponse> {
    this.requests.push(request);
    const reply = await this.#script(request, this.requests.length - 1, signal);
    if (reply instanceof Error) throw reply;
    const given = typeof reply === "string" ? { text: reply } : reply;
    const text = given.text ?? "";
    const promptChars = request.messages.reduce(
      (sum, message) => sum + message.text.length,
      request.system?.length ?? 0,
    );
    const usage = {
      inputTokens: Math.ceil(promptChars / 4),
      outputTokens: Math.ceil(text.length / 4),
      ...{ cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
    };
    return { stop: "end", usage, ...given, text };
  }

  gateway(options: Pick<GatewayOptions, "concurrency" | "tape"> = {}): LmGateway {
    return new LmGateway({ clientFor: () => this, prices: testPrices, retry: { retries: 0 }, ...options });
  }
}
