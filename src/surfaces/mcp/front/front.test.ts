import { PassThrough } from "node:stream";
import { beforeAll, describe, expect, test } from "vitest";
import { LazySandbox } from "../../../service/lazy-sandbox.ts";
import { strictestFacts } from "../../../service/tools/policy-facts.ts";
import { toolsetNames } from "../../../service/tools/toolset-name.ts";
import { makeListing } from "../make-listing.ts";
import type { McpServerOptions } from "../server.ts";
import { type StdioStreams, serveOverStdio } from "../stdio.ts";
import { Front } from "./front.ts";
import type { McpListing } from "./listing.ts";
import { QuickReplies } from "./quick-replies.ts";

const clientInfo = { name: "test", version: "1" };
const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params };
const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
const ping = { jsonrpc: "2.0", id: 3, method: "ping" };
/** For the SDK. Two of them, because it may answer the first one before an earlier message. */
const last = { jsonrpc: "2.0", id: "last", method: "resources/templates/list" };
const end = { ...last, id: "end" };

const facts = { ...strictestFacts, hosts: ["packages.example"], python: { version: "3.11.2", packages: ["numpy"] } };
const wide = { facts, effects: { writesHost: true, reachesNetwork: true } };
const strict = { facts: strictestFacts, effects: { writesHost: false, reachesNetwork: false } };
const wasm = { ...strict, facts: { ...strictestFacts, hasProcesses: false } };

let listing: McpListing;
beforeAll(async () => {
  listing = await makeListing({ tools: "all", structured: false, hasProcesses: true });
});

function sandboxWith(outlook: object): LazySandbox {
  return new LazySandbox({ projectDir: "/", open: () => Promise.reject(new Error("no sandbox here")), ...outlook });
}

type Message = string | object;
const textOf = (messages: readonly Message[]) =>
  messages.map((one) => `${typeof one === "string" ? one : JSON.stringify(one)}\n`).join("");

/** What a server writes until it has answered the last message. */
async function transcript(serve: (streams: StdioStreams) => AsyncDisposable, text: string, isInBytes = false) {
  const streams = { input: new PassThrough(), output: new PassThrough() };
  let written = "";
  const answered = new Promise<void>((resolve) => {
    streams.output.on("data", (chunk: Buffer) => {
      if (!written.includes('"id":"last"') && chunk.includes('"id":"last"')) streams.input.write(textOf([end]));
      written += chunk;
      if (written.includes('"id":"end"')) resolve();
    });
  });
  await using _server = serve(streams);
  const bytes = Buffer.from(text);
  for (const chunk of isInBytes ? bytes : [bytes]) {
    streams.input.write(typeof chunk === "number" ? Buffer.of(chunk) : chunk);
  }
  await answered;
  return written.split("\n").sort(); // a server may answer messages that arrive together in any order
}

const bySdk =
  (outlook: object, options: McpServerOptions = {}) =>
  (streams: StdioStreams) =>
    serveOverStdio(sandboxWith(outlook), options, streams);

const byFront =
  (outlook: object, options: McpServerOptions = {}, made = listing) =>
  (streams: StdioStreams) => {
    const sandbox = sandboxWith(outlook);
    const replies = new QuickReplies(made, sandbox, options.tools ?? "all");
    return new Front(replies, streams, async (rest, onInitialized) =>
      serveOverStdio(sandbox, options, rest, { onInitialized }),
    );
  };

const usual = [initialize, initialized, list, ping];
const versions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07", "2026-07-28", "1999-01-01", ""];
const withParams = (more: object) => ({ ...initialize, params: { ...params, ...more } });
const modernMeta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": clientInfo,
  "io.modelcontextprotocol/clientCapabilities": {},
};

const conversations: Record<string, Message[]> = {
  ...Object.fromEntries(
    versions.map((version) => [
      `version ${version || "empty"}`,
      [withParams({ protocolVersion: version }), initialized, list, ping],
    ]),
  ),
  "the usual messages": usual,
  "a second list": [...usual, { ...list, id: 4 }],
  "no initialized notification": [initialize, list, ping],
  "two initialized notifications": [initialize, initialized, initialized, list],
  "a list before initialize": [list, initialize, list],
  "a ping before initialize": [ping, initialize, ping],
  "a second initialize": [...usual, { ...initialize, id: 9 }, list],
  "a modern client": [
    { jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta: modernMeta } },
    { ...list, params: { _meta: modernMeta } },
  ],
  "modern messages after initialize": [initialize, { ...list, params: { _meta: modernMeta } }, list],
  "usual capabilities": [
    withParams({ capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: {} } }),
    list,
  ],
  "unusual capabilities": [withParams({ capabilities: { roots: { listChanged: 1 } } }), initialize, list],
  "unknown capabilities": [withParams({ capabilities: { tasks: { list: {} }, other: 1 } }), list],
  "capabilities that are no object": [withParams({ capabilities: [] }), initialize, list],
  "no capabilities": [{ ...initialize, params: { protocolVersion: "2025-11-25", clientInfo } }, initialize, list],
  "a title of the client": [withParams({ clientInfo: { ...clientInfo, title: "Test" } }), list],
  "a website of the client": [withParams({ clientInfo: { ...clientInfo, websiteUrl: "https://example.com" } }), list],
  "no version of the client": [withParams({ clientInfo: { name: "test" } }), initialize, list],
  "initialize with _meta": [withParams({ _meta: { progressToken: 1 } }), list],
  "initialize without params": [{ jsonrpc: "2.0", id: 1, method: "initialize" }, initialize, list],
  "initialize as a notification": [{ jsonrpc: "2.0", method: "initialize", params }, initialize, list],
  "ids that are texts": [
    { ...initialize, id: "é" },
    { ...list, id: "" },
    { ...ping, id: "\u2028" },
  ],
  "unusual ids": [
    initialize,
    ...[0, -1, 1.5, 2 ** 60, null, true, [1]].map((id) => ({ ...ping, id })),
    '{"jsonrpc":"2.0","id":1e400,"method":"ping"}',
  ],
  "an unknown method": [initialize, { ...ping, method: "no/such/thing" }, list],
  "an unknown notification": [initialize, { jsonrpc: "2.0", method: "notifications/none" }, list],
  "a cancelled request": [
    ...usual,
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 77 } },
    ping,
  ],
  "a response that nobody expects": [initialize, { jsonrpc: "2.0", id: 7, result: {} }, list],
  "malformed JSON": [initialize, "{", list],
  "malformed JSON first": ["not JSON", initialize, list],
  "an empty line": [initialize, "", list],
  "line ends of Windows": usual.map((one) => `${JSON.stringify(one)}\r`),
  "spaces around messages": usual.map((one) => ` ${JSON.stringify(one, null, " ").replaceAll("\n", "")} `),
  "a byte order mark": [`\ufeff${JSON.stringify(initialize)}`, initialize, list],
  "a batch": [`[${JSON.stringify(initialize)}]`, initialize, `[${JSON.stringify(list)},${JSON.stringify(ping)}]`],
  "other versions of JSON-RPC": [{ ...initialize, jsonrpc: "1.0" }, initialize, { ...list, jsonrpc: 2 }, ping],
  "unknown members": [initialize, { ...list, extra: 1 }, { ...ping, result: {} }],
  "the same member twice": [initialize, '{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}'],
  "a member named __proto__": [initialize, '{"jsonrpc":"2.0","id":5,"method":"ping","__proto__":{}}'],
  "params that are empty": [
    initialize,
    { ...initialized, params: {} },
    { ...list, params: {} },
    { ...ping, params: {} },
  ],
  "params that are no object": [initialize, { ...list, params: [] }, { ...ping, params: null }, { ...list, params: 1 }],
  "params of initialized": [initialize, { ...initialized, params: { _meta: {} } }, list],
  "a cursor": [initialize, { ...list, params: { cursor: "x" } }, { ...list, params: { cursor: 1 } }],
  "a progress token": [initialize, { ...list, params: { _meta: { progressToken: "p" } } }, ping],
  "a long line": [initialize, { ...ping, params: { x: "y".repeat(200_000) } }, list],
  "a tool call": [...usual, { jsonrpc: "2.0", id: 5, method: "tools/call", params: { name: "none", arguments: {} } }],
};

describe("the front of codecell mcp writes the same bytes as the MCP SDK", () => {
  test.each(Object.entries(conversations))("for %s", async (_name, messages) => {
    const text = textOf([...messages, last]);
    expect(await transcript(byFront(strict), text)).toEqual(await transcript(bySdk(strict), text));
  });

  test("if every byte arrives alone", async () => {
    const text = textOf([{ ...initialize, id: "é" }, initialized, list, { ...ping, params: { a: "ü" } }, last]);
    expect(await transcript(byFront(strict), text, true)).toEqual(await transcript(bySdk(strict), text));
  });

  test.each(toolsetNames.flatMap((tools) => [false, true].map((structured) => ({ tools, structured }))))(
    "for tools: $tools, structured: $structured",
    async (options) => {
      const text = textOf([...usual, last]);
      for (const outlook of [strict, wide, {}, wasm]) {
        const hasProcesses = outlook !== wasm;
        const made = JSON.parse(JSON.stringify(await makeListing({ ...options, hasProcesses }))) as McpListing;
        expect(await transcript(byFront(outlook, options, made), text)).toEqual(
          await transcript(bySdk(outlook, options), text),
        );
      }
    },
  );
});

test("the usual messages of a client that lists the tools do not need the SDK", async () => {
  const replies = new QuickReplies(listing, sandboxWith(wide), "all");
  const answers = usual.map((message) => replies.answer(JSON.stringify(message)));
  expect(answers.map((one) => one?.slice(0, 20))).toEqual([
    '{"result":{"protocol',
    "",
    '{"result":{"tools":[',
    '{"result":{},"jsonrp',
  ]);
  expect(replies.answer(JSON.stringify(last))).toBeUndefined();
});

test("the SDK gets the messages that opened the connection, and its reply to them is not sent again", async () => {
  const written = await transcript(byFront(strict), textOf([...usual, last]));
  expect(written.filter((line) => line.includes('"protocolVersion"'))).toHaveLength(1);
  expect(written.filter((line) => line !== "")).toHaveLength(5);
});
