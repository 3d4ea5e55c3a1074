import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scriptedLmClient } from "../../../test/fakes/scripted-lm-client.ts";
import { Budget } from "../budget/budget.ts";
import type { LmCallEvent } from "../calls/call-event.ts";
import { LmGateway } from "../calls/gateway.ts";
import type { LmRequest, LmResponse } from "../client.ts";
import { Tape } from "../tape/tape.ts";
import { noUsage } from "../usage.ts";
import { AnswerCache } from "./answer-cache.ts";

const request: LmRequest = { model: "m", messages: [{ role: "user", text: "Hi" }], maxTokens: 100 };
const response: LmResponse = { text: "Hello", stop: "end", usage: { ...noUsage, outputTokens: 2 }, requestId: "r" };

let root = "";
let count = 0;
const newDirectory = () => join(root, `${count++}`);
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "codecell-answers-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function filled() {
  const directory = newDirectory();
  const cache = new AnswerCache(directory);
  await cache.put("s", request, response);
  const [name = ""] = await readdir(directory);
  return { directory, cache, file: join(directory, name) };
}

describe("answer cache", () => {
  test("returns the answer to an equal request, also to another process", async () => {
    const { directory } = await filled();
    expect(await new AnswerCache(directory).get("s", { ...request })).toEqual(response);
  });

  test.each<[string, string, Partial<LmRequest>]>([
    ["model", "s", { model: "n" }],
    ["server", "t", {}],
    ["prompt", "s", { messages: [{ role: "user", text: "Hi!" }] }],
    ["system prompt", "s", { system: "Be brief" }],
    ["limit", "s", { maxTokens: 99 }],
    ["stop sequence", "s", { stop: ["x"] }],
  ])("does not answer a request with another %s", async (_, server, change) => {
    const { cache } = await filled();
    expect(await cache.get(server, { ...request, ...change })).toBeUndefined();
  });

  test("two halves of different characters are different requests", async () => {
    const { cache } = await filled();
    const half = (text: string): LmRequest => ({ ...request, messages: [{ role: "user", text }] });
    await cache.put("s", half("\ud800"), response);
    expect(await cache.get("s", half("\ud801"))).toBeUndefined();
    expect(await cache.get("s", half("\ud800"))).toEqual(response);
  });

  test("keeps nothing for a temperature above 0, and no answer that is cut off or refused", async () => {
    const directory = newDirectory();
    const cache = new AnswerCache(directory);
    await cache.put("s", { ...request, temperature: 0.1 }, response);
    await cache.put("s", request, { ...response, stop: "max_tokens" });
    await cache.put("s", request, { ...response, stop: "refusal" });
    await expect(readdir(directory)).rejects.toThrow("ENOENT");
  });

  test("its files are readable only by their owner, and complete: no drafts stay", async () => {
    const { directory, file } = await filled();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect(await readdir(directory)).toHaveLength(1);
  });

  test("a damaged, edited or renamed entry is a miss, and is replaced", async () => {
    const { directory, cache, file } = await filled();
    const good = await readFile(file, "utf8");
    for (const bad of ["", good.slice(0, 50), good.replace("Hello", "Hallo"), "{}", "null"]) {
      await writeFile(file, bad);
      expect(await cache.get("s", request)).toBeUndefined();
    }
    await cache.put("s", request, response);
    expect(await cache.get("s", request)).toEqual(response);
    await cache.put("s", { ...request, maxTokens: 7 }, response);
    const other = (await readdir(directory)).map((name) => join(directory, name)).find((path) => path !== file) ?? "";
    await writeFile(other, good);
    expect(await cache.get("s", { ...request, maxTokens: 7 })).toBeUndefined();
  });

  test("a directory that cannot be written loses the entry, and not the answer", async () => {
    const { file } = await filled();
    const cache = new AnswerCache(file);
    await cache.put("s", request, response);
    expect(await cache.get("s", request)).toBeUndefined();
  });
});

describe("a gateway with a cache", () => {
  test("answers a repeated request at no cost, marked, without asking the model, and replays it", async () => {
    const client = scriptedLmClient(["Hello"]);
    const events: LmCallEvent[] = [];
    const path = join(root, "tape.jsonl");
    const tape = await Tape.record(path);
    const cache = new AnswerCache(newDirectory());
    const onCall = (event: LmCallEvent) => void events.push(event);
    const gateway = new LmGateway({ clientFor: () => client, cache, tape, onCall });
    const budget = new Budget({ caps: { calls: 1 } });
    const call = { budget, signal: new AbortController().signal, purpose: "sub", parent: "r" } as const;
    const first = await gateway.complete(request, call);
    const second = await gateway.complete(request, call);
    expect([first.source, second.source]).toEqual(["model", "cache"]);
    expect(second).toMatchObject({ text: "Hello", usage: noUsage, charged: { calls: 0, tokens: 0, usd: 0 } });
    expect(budget.snapshot().spent.calls).toBe(1);
    expect(events[1]).toMatchObject({ source: "cache", attempts: 0, usd: 0 });
    await tape[Symbol.asyncDispose]();
    await using replayed = await Tape.replay(path);
    const replay = new LmGateway({ tape: replayed });
    const again = new Budget({ caps: { calls: 1 } });
    for (const one of [first, second])
      expect((await replay.complete(request, { ...call, budget: again })).charged).toEqual(one.charged);
    expect(again.snapshot()).toEqual(budget.snapshot());
  });
});
