import type { Query, SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { describe, expect, test } from "vitest";
import { Cleanup } from "../../lib/cleanup.ts";
import { DeferredQuery, type StartedQuery } from "./deferred-query.ts";

const init: SDKMessage = { type: "system", subtype: "init" };
const toolCall: SDKMessage = { type: "assistant", message: { content: [{ type: "tool_use" }] } };
const text: SDKMessage = { type: "assistant", message: { content: [{ type: "text" }] } };

const resultOf = (tool_use_id: string, is_error = false): SDKMessage => ({
  ...{ type: "user", message: { content: [{ type: "tool_result", tool_use_id, is_error }] } },
});

/** A query that says these messages, and what happened to it. */
function started(messages: readonly SDKMessage[], more: Partial<StartedQuery> = {}) {
  const log: string[] = [];
  async function* say() {
    yield* messages;
  }
  const query = Object.assign(say(), {
    close: () => void log.push("closed"),
    interrupt: async () => void log.push("interrupted"),
    setModel: async (name: string) => void log.push(`model ${name}`),
    applyFlagSettings: async (settings: object) => void log.push(JSON.stringify(settings)),
    setMcpServers: async (servers: object) => void log.push(`servers ${Object.keys(servers)}`),
  }) as unknown as Query;
  const cleanup = new Cleanup();
  cleanup.defer(() => log.push("cleaned up"));
  const own: StartedQuery = {
    ...{
      query,
      cleanup,
      isPlain: true,
      hooksRan: () => true,
      gateSaw: (id) => id === "seen",
      stopRuns: () => void log.push("runs stopped"),
    },
    server: { type: "sdk", name: "sandboxed_code", instance: {} as never },
    ...more,
  };
  return { log, own };
}

async function read(query: Query): Promise<number> {
  let count = 0;
  for await (const _message of query) count++;
  return count;
}

describe("a query that starts when its sandbox is open", () => {
  test("passes messages on, and its end cleans up", async () => {
    const { log, own } = started([init, toolCall, text]);
    expect(await read(DeferredQuery.start(async () => own))).toBe(3);
    expect(log).toEqual(["cleaned up"]);
  });

  test("reports a failure of the cleanup to the reader, and never as an unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    const abort = new AbortController();
    const queries = [undefined, abort.signal].map((signal) => {
      const { own } = started([init]);
      own.cleanup.defer(() => Promise.reject(new Error("the cell could not be removed")));
      return DeferredQuery.start(async () => own, signal);
    });
    queries[0]?.close();
    abort.abort();
    await new Promise((resolve) => setTimeout(resolve, 0));
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
    await expect(queries[0]?.next()).rejects.toThrow("the cell could not be removed");
  });

  test("passes methods on, those that it does not know too", async () => {
    const { log, own } = started([]);
    const query = DeferredQuery.start(async () => own) as Query & { setModel(name: string): Promise<void> };
    await query.setModel("small");
    await query.interrupt();
    await query.setMcpServers({ office: { command: "office" } });
    expect(log).toEqual(["model small", "runs stopped", "interrupted", "servers office,sandboxed_code"]);
    await expect((query as unknown as { fly(): Promise<void> }).fly()).rejects.toThrow("has no fly()");
    await expect(query.setMcpServers({ "sandboxed code": { command: "x" } })).rejects.toMatchObject({ code: "usage" });
  });

  test("keeps hooks on when settings change", async () => {
    const { log, own } = started([]);
    const query = DeferredQuery.start(async () => own);
    await query.applyFlagSettings({ model: "small" });
    await query.applyFlagSettings({ env: { CLAUDE_CODE_SIMPLE: "1", A: "b" } });
    expect(log).toEqual(['{"model":"small"}', '{"env":{"CLAUDE_CODE_SIMPLE":"0","A":"b"}}']);
  });

  test("is not a promise, so an async function can return it", async () => {
    const { own } = started([init]);
    const query = await (async () => DeferredQuery.start(async () => own))();
    expect(await read(query)).toBe(1);
  });

  test("throws what failed while it opened, and only to who reads it", async () => {
    const query = DeferredQuery.start(() => Promise.reject(new Error("no sandbox")));
    await expect(query.next()).rejects.toThrow("no sandbox");
  });

  test.each([
    ["return", (query: Query) => query.return()],
    ["dispose", (query: Query) => query[Symbol.asyncDispose]()],
  ])("cleans up on %s before its first message", async (_name, end) => {
    const { log, own } = started([init]);
    const query = DeferredQuery.start(async () => own);
    await end(query);
    expect(log).toEqual(["closed", "cleaned up"]);
    expect(await query.next()).toEqual({ done: true, value: undefined });
  });

  test("cleans up when the caller aborts, although nobody reads", async () => {
    const { log, own } = started([init]);
    const abort = new AbortController();
    const cleaned = new Promise<void>((resolve) => own.cleanup.defer(resolve));
    DeferredQuery.start(async () => own, abort.signal);
    abort.abort();
    await cleaned;
    await own.cleanup[Symbol.asyncDispose]();
    expect(log).toEqual(["cleaned up"]);
  });

  test.each([
    ["the first message of a prompt for the model", [init], true],
    ["a call of a tool after a slash command", [init, toolCall], false],
  ])("is ended at %s if Claude Code has run no hook", async (_when, messages, isPlain) => {
    const { log, own } = started(messages, { hooksRan: () => false, isPlain });
    await expect(read(DeferredQuery.start(async () => own))).rejects.toMatchObject({ code: "not_supported" });
    expect(log).toEqual(["closed", "cleaned up"]);
  });

  test("is ended at the result of a tool that the gate was never asked about", async () => {
    const { log, own } = started([init, toolCall, resultOf("unseen")]);
    await expect(read(DeferredQuery.start(async () => own))).rejects.toMatchObject({ code: "not_supported" });
    expect(log).toEqual(["closed", "cleaned up"]);
  });

  test("goes on after results of calls that the gate saw, and of calls that were refused without it", async () => {
    const { own } = started([init, toolCall, resultOf("seen"), resultOf("unknown tool", true), text]);
    expect(await read(DeferredQuery.start(async () => own))).toBe(5);
  });

  test("goes on without hooks while Claude Code answers a slash command by itself", async () => {
    const { own } = started([init, text], { hooksRan: () => false, isPlain: false });
    expect(await read(DeferredQuery.start(async () => own))).toBe(2);
  });
});
