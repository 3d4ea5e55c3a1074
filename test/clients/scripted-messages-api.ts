import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A tool that the scripted model calls. */
export interface ToolUse {
  readonly name: string;
  readonly input: Record<string, unknown>;
}

/** A `tool_result` block as the client sent it: what a model would have seen. */
export interface SeenResult {
  readonly isError: boolean;
  /** its text blocks, without the reminders that the client appends */
  readonly texts: readonly string[];
  readonly images: readonly { readonly mediaType: string; readonly data: string }[];
}

/** A tool as the client describes it to the model. */
export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  readonly input_schema?: object;
}

/** What the model does next, given every result so far. A text ends the conversation. */
export type Turn = (seen: readonly SeenResult[]) => readonly ToolUse[] | string;

export interface ScriptedMessagesApi extends AsyncDisposable {
  readonly url: string;
  /** every `tool_result` of the conversation, in the order of the calls */
  readonly seen: readonly SeenResult[];
  /** names of the tools that the client offered to the model */
  readonly offered: readonly string[];
  readonly definitions: readonly ToolDefinition[];
  /** the system prompt and the first messages, as text */
  readonly briefing: string;
  /** requested paths, to check that the client requested nothing else */
  readonly paths: ReadonlySet<string>;
  /** the error that a turn of the script threw; it ended the conversation */
  readonly failure: unknown;
  /** resolves when the client requests this turn, counted from 0 */
  reached(turn: number): Promise<void>;
}

/**
 * A FAKE of the Messages API: no model, no network, no judgement. It plays the turns of a script to a real client on
 * loopback and records what the client told the model.
 */
export async function startScriptedMessagesApi(turns: readonly Turn[]): Promise<ScriptedMessagesApi> {
  const recorded: Recorded = { seen: [], definitions: [], briefing: "", failure: undefined, paths: new Set() };
  const waiting: { turn: number; resolve: () => void }[] = [];
  let latest = -1;
  const server = createServer((request, response) => {
    answer(request, response, recorded, (turn) => {
      latest = Math.max(latest, turn);
      for (const one of waiting) if (one.turn <= latest) one.resolve();
      return turns[turn] ?? (() => "The script has ended.");
    }).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    get seen() {
      return recorded.seen;
    },
    get offered() {
      return recorded.definitions.map(({ name }) => name);
    },
    get definitions() {
      return recorded.definitions;
    },
    get briefing() {
      return recorded.briefing;
    },
    get failure() {
      return recorded.failure;
    },
    paths: recorded.paths,
    reached: (turn) =>
      new Promise((resolve) => {
        if (latest >= turn) resolve();
        else waiting.push({ turn, resolve });
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Recorded {
  seen: SeenResult[];
  definitions: ToolDefinition[];
  briefing: string;
  failure: unknown;
  readonly paths: Set<string>;
}

interface MessagesRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly system?: unknown;
  readonly tools?: ToolDefinition[];
  readonly messages: { role: string; content: string | Block[] }[];
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly content?: string | Block[];
  readonly is_error?: boolean;
  readonly source?: { media_type: string; data: string };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  recorded: Recorded,
  turnAt: (turn: number) => Turn,
): Promise<void> {
  const path = (request.url ?? "").split("?")[0] ?? "";
  recorded.paths.add(path);
  let raw = "";
  for await (const bytes of request) raw += bytes;
  response.setHeader("content-type", "application/json");
  if (path === "/v1/messages/count_tokens") return void response.end('{"input_tokens":10}');
  if (path !== "/v1/messages") return void response.writeHead(404).end('{"type":"error"}');
  const body = JSON.parse(raw) as MessagesRequest;
  // Clients also ask for titles and summaries: those requests offer no tools.
  if (!body.tools?.length) return send(response, body, [{ type: "text", text: "A title" }]);
  const blocks = body.messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  recorded.seen = blocks.filter(({ type }) => type === "tool_result").map(seenResult);
  recorded.definitions = body.tools;
  recorded.briefing = JSON.stringify([body.system, body.messages.filter(({ role }) => role !== "assistant")]);
  const turn = body.messages.filter(({ role }) => role === "assistant").length;
  const next = play(turnAt(turn), recorded);
  const calls = typeof next === "string" ? [{ type: "text" as const, text: next }] : next.map(toolUse);
  send(response, body, calls);

  function toolUse({ name, input }: ToolUse, index: number): Said {
    return { type: "tool_use", id: `toolu_${turn}_${index}`, name, input };
  }
}

const clientRemark = /\s*<system-reminder>[\s\S]*<\/system-reminder>\s*$/;

/** Clients try again after a refusal, for minutes; a text ends them at once. */
function play(turn: Turn, recorded: Recorded): readonly ToolUse[] | string {
  try {
    return turn(recorded.seen);
  } catch (error) {
    recorded.failure = error;
    return "The script failed.";
  }
}

function seenResult({ is_error = false, content = "" }: Block): SeenResult {
  const blocks: Block[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return {
    isError: is_error,
    texts: blocks.flatMap(({ text }) => text?.replace(clientRemark, "") ?? []),
    images: blocks.flatMap(({ source }) => (source ? [{ mediaType: source.media_type, data: source.data }] : [])),
  };
}

type Said =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: Record<string, unknown> };

function send(response: ServerResponse, { model, stream }: MessagesRequest, said: readonly Said[]): void {
  const stop_reason = said.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
  const usage = { input_tokens: 10, output_tokens: 5 };
  const id = `msg_${randomUUID()}`; // clients take messages with one id for parts of one message
  const message = { id, type: "message", role: "assistant", model, stop_sequence: null, usage };
  if (!stream) return void response.end(JSON.stringify({ ...message, content: said, stop_reason }));
  response.writeHead(200, { "content-type": "text/event-stream" });
  const event = (type: string, data: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  event("message_start", { message: { ...message, content: [], stop_reason: null } });
  for (const [index, block] of said.entries()) {
    const [start, delta] =
      block.type === "text"
        ? [
            { type: "text", text: "" },
            { type: "text_delta", text: block.text },
          ]
        : [
            { ...block, input: {} },
            { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
          ];
    event("content_block_start", { index, content_block: start });
    event("content_block_delta", { index, delta });
    event("content_block_stop", { index });
  }
  event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage });
  event("message_stop", {});
  response.end();
}
