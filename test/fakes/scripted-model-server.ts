import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { LmMessage, LmStop, LmUsage } from "../../src/llm/client.ts";
import { readRequest, type WireFormat, writeAnswer, writeError } from "./scripted-wire-formats.ts";

/** A request as the server received it, in the same words for both wire formats. */
export interface SeenRequest {
  /** counted from 0, in the order of arrival */
  readonly index: number;
  readonly model: string;
  readonly system: string | undefined;
  readonly messages: readonly LmMessage[];
  readonly maxTokens: number;
  readonly temperature: number | undefined;
  readonly stop: readonly string[];
  /** indices of messages with a cache breakpoint (Anthropic only) */
  readonly cacheBreakpoints: readonly number[];
  readonly headers: IncomingMessage["headers"];
  /** the body as it came */
  readonly body: Readonly<Record<string, unknown>>;
}

/** A normal answer. A string is short for `{ text }`. */
export interface ScriptedAnswer {
  readonly text: string;
  readonly stop?: LmStop;
  /** by default one token per four characters; `null`: the server does not report usage */
  readonly usage?: Partial<LmUsage> | null;
  /** the server answers when this resolves; prefer it to `delayMs` */
  readonly after?: PromiseLike<unknown>;
  readonly delayMs?: number;
}

/** Something that goes wrong. */
export type ScriptedFault =
  /** an HTTP error; `retryAfter` is the header's value: seconds or a date */
  | {
      readonly fault: "status";
      readonly status: number;
      readonly message?: string;
      readonly retryAfter?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** half of a valid answer, then the connection closes */
  | { readonly fault: "truncated"; readonly text: string }
  /** status 200 with this body, which is not what the API promises */
  | { readonly fault: "malformed"; readonly body: string }
  /** no answer at all, until the client leaves */
  | { readonly fault: "hang" }
  /** a valid answer, one byte at a time, until the client leaves */
  | { readonly fault: "drip"; readonly text: string; readonly everyMs: number }
  /** the connection closes before a response */
  | { readonly fault: "reset" };

export type ScriptedReply = string | ScriptedAnswer | ScriptedFault;

/** Replies in the order of arrival, or a function of the request. A list that has ended answers 400, which no client retries. */
export type Script = readonly ScriptedReply[] | ((request: SeenRequest) => ScriptedReply | Promise<ScriptedReply>);

export interface ScriptedModelServer extends AsyncDisposable {
  /** the base URL for the client of this wire format */
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  /** requests that have no answer yet */
  readonly inFlight: number;
  /** the most requests that were in flight together */
  readonly peakInFlight: number;
  /** Resolves with the request of this index as soon as it arrives. */
  received(index: number): Promise<SeenRequest>;
  /** Resolves when the client of that request has closed its connection. */
  left(index: number): Promise<void>;
}

/** The key that the server accepts. It refuses every other one with 401. */
export const scriptedKey = "sk-scripted-0123456789abcdef";

/**
 * A FAKE of a model's server on loopback: no model, no judgement. It plays a script to a real client, in the Anthropic Messages or
 * the OpenAI chat format, and records what it received. It refuses requests that the real API would refuse.
 *
 *     await using server = await startScriptedModelServer("anthropic", ["Hello", { fault: "status", status: 529 }]);
 *     const client = anthropicClient({ apiKey: scriptedKey, baseUrl: server.url });
 *     ...
 *     expect(server.requests[0]?.messages).toEqual([{ role: "user", text: "Hi" }]);
 */
export async function startScriptedModelServer(format: WireFormat, script: Script): Promise<ScriptedModelServer> {
  const requests: SeenRequest[] = [];
  const waiting = new Set<() => void>();
  const left = new Map<number, Promise<void>>();
  let [inFlight, peakInFlight] = [0, 0];
  const replyTo = (request: SeenRequest): ScriptedReply | Promise<ScriptedReply> =>
    typeof script === "function"
      ? script(request)
      : (script[request.index] ?? { fault: "status", status: 400, message: "the script has ended" });

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {});
    const gone = new Promise<void>((resolve) => response.once("close", resolve));
    peakInFlight = Math.max(peakInFlight, ++inFlight);
    response.once("close", () => inFlight--);
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const read = readRequest(format, incoming, Buffer.concat(pieces).toString("utf8"), scriptedKey);
    if ("refusal" in read) return writeError(format, response, { status: read.status, message: read.refusal });
    const request = { index: requests.length, ...read };
    left.set(request.index, gone);
    requests.push(request);
    for (const wake of [...waiting]) wake();
    await play(format, response, await replyTo(request), request);
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      if (!response.headersSent) writeError(format, response, { status: 400, message: `the script failed: ${error}` });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  async function received(index: number): Promise<SeenRequest> {
    for (;;) {
      const request = requests[index];
      if (request) return request;
      await new Promise<void>((resolve) => {
        const wake = () => {
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
      });
    }
  }

  return {
    url: `http://127.0.0.1:${port}${format === "openai" ? "/v1" : ""}`,
    requests,
    get inFlight() {
      return inFlight;
    },
    get peakInFlight() {
      return peakInFlight;
    },
    received,
    async left(index) {
      await received(index);
      await left.get(index);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function play(
  format: WireFormat,
  response: ServerResponse,
  reply: ScriptedReply,
  request: SeenRequest,
): Promise<void> {
  if (typeof reply === "string") return play(format, response, { text: reply }, request);
  if (!("fault" in reply)) {
    await reply.after;
    if (reply.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, reply.delayMs));
    response.writeHead(200, { "content-type": "application/json" });
    return void response.end(writeAnswer(format, reply, request));
  }
  switch (reply.fault) {
    case "status":
      return writeError(format, response, reply);
    case "malformed":
      return void response.writeHead(200, { "content-type": "application/json" }).end(reply.body);
    case "truncated": {
      const body = writeAnswer(format, reply, request);
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
      return void response.write(body.slice(0, body.length / 2), () => response.destroy());
    }
    case "reset":
      return void response.destroy();
    case "hang":
      return;
    case "drip": {
      const body = Buffer.from(writeAnswer(format, reply, request));
      response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
      for (const byte of body) {
        if (response.destroyed) return;
        response.write(Buffer.of(byte));
        await new Promise((resolve) => setTimeout(resolve, reply.everyMs));
      }
      response.end();
    }
  }
}
