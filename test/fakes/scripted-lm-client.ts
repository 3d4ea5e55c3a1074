import type { LmClient, LmRequest, LmResponse } from "../../src/llm/client.ts";
import { noUsage } from "../../src/llm/usage.ts";

/** A text, or more of a response; a thrown error is the client's failure. */
export type ScriptedResponse = string | Partial<LmResponse>;

/** Responses in the order of the requests, or a function of the request. */
export type ClientScript =
  | readonly (ScriptedResponse | Error)[]
  | ((request: LmRequest, index: number, signal: AbortSignal) => ScriptedResponse | Promise<ScriptedResponse>);

export interface ScriptedLmClient extends LmClient {
  readonly requests: readonly LmRequest[];
  /** the most requests that were in flight together */
  readonly peakInFlight: number;
}

/** A FAKE of a client for models, without a server. It plays a script and records what it was asked. Usage: a token per 4 characters. */
export function scriptedLmClient(script: ClientScript, name = "scripted"): ScriptedLmClient {
  const requests: LmRequest[] = [];
  let [inFlight, peakInFlight] = [0, 0];
  return {
    name,
    requests,
    get peakInFlight() {
      return peakInFlight;
    },
    async complete(request, { signal }) {
      const index = requests.push(request) - 1;
      peakInFlight = Math.max(peakInFlight, ++inFlight);
      try {
        const reply = typeof script === "function" ? await script(request, index, signal) : script[index];
        if (reply === undefined) throw new Error(`the script has no response for request ${index}`);
        if (reply instanceof Error) throw reply;
        return fullResponse(typeof reply === "string" ? { text: reply } : reply, request);
      } finally {
        inFlight--;
      }
    },
  };
}

function fullResponse({ text = "", ...rest }: Partial<LmResponse>, { system = "", messages }: LmRequest): LmResponse {
  const characters = messages.reduce((sum, one) => sum + one.text.length, system.length);
  const usage = { ...noUsage, inputTokens: Math.ceil(characters / 4), outputTokens: Math.ceil(text.length / 4) };
  return { stop: "end", usage, ...rest, text };
}
