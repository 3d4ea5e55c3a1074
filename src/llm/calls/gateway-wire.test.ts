import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { scriptedKey, startScriptedModelServer } from "../../../test/fakes/scripted-model-server.ts";
import { Budget } from "../budget/budget.ts";
import type { LmRequest } from "../client.ts";
import { modelsFromEnvironment } from "../clients/models-from-environment.ts";
import { Tape } from "../tape/tape.ts";
import type { LmCallEvent } from "./call-event.ts";
import { LmGateway } from "./gateway.ts";

const formats = [
  { format: "anthropic", model: "claude-haiku-5-5" },
  { format: "openai", model: "gpt-6-luna" },
] as const;
const timer = { random: () => 0.5, sleep: async () => {} };
const signal = new AbortController().signal;

describe.each(formats)("a gateway and a $format server", ({ format, model }) => {
  const ask = (text: string): LmRequest => ({ model, messages: [{ role: "user", text }], maxTokens: 100 });
  const setUp = (url: string) => {
    const prefix = format.toUpperCase();
    return modelsFromEnvironment(
      { [`${prefix}_API_KEY`]: scriptedKey, [`${prefix}_BASE_URL`]: url },
      { timeoutMs: 20_000 },
    );
  };

  test("40 calls, of which every third request fails in turn, are all answered, in order and within the concurrency", async () => {
    const faults = [
      { fault: "status", status: 529 },
      { fault: "status", status: 429, retryAfter: "1" },
      { fault: "status", status: 500 },
      { fault: "truncated", text: "cut off" },
      { fault: "malformed", body: "{" },
      { fault: "reset" },
    ] as const;
    await using server = await startScriptedModelServer(format, ({ index, messages }) => {
      if (index % 3 === 0) return faults[(index / 3) % faults.length] ?? "";
      return `answer to ${messages[0]?.text}`;
    });
    const { clientFor } = setUp(server.url);
    const gateway = new LmGateway({ clientFor, timer, concurrency: 8, retry: { retries: 8 } });
    const caps = { calls: 40, tokens: 100_000, usd: 0.1 };
    const budget = new Budget({ caps });
    const prompts = Array.from({ length: 40 }, (_, n) => `prompt ${n}`);
    const items = await gateway.completeAll(prompts.map(ask), { budget, signal, purpose: "sub", parent: "run" });
    expect(items.map((item) => (item.ok ? item.response.text : item.error.message))).toEqual(
      prompts.map((prompt) => `answer to ${prompt}`),
    );
    expect(server.peakInFlight).toBeLessThanOrEqual(8);
    const { spent, held } = budget.snapshot();
    expect(spent.calls).toBe(40);
    expect(spent.usd).toBeLessThanOrEqual(caps.usd);
    expect(held).toEqual({ calls: 0, tokens: 0, usd: 0 });
  });

  test("a key that the server echoes reaches neither errors, nor answers, nor events, nor the tape", async () => {
    const echo = `your key is ${scriptedKey}`;
    await using server = await startScriptedModelServer(format, ({ messages }) =>
      messages[0]?.text === "bad" ? { fault: "status", status: 400, message: echo } : echo,
    );
    const directory = await mkdtemp(join(tmpdir(), "codecell-key-"));
    const path = join(directory, "tape.jsonl");
    const tape = await Tape.record(path);
    const events: LmCallEvent[] = [];
    const { clientFor } = setUp(server.url);
    const gateway = new LmGateway({ clientFor, timer, tape, onCall: (event) => void events.push(event) });
    const budget = new Budget({ caps: {} });
    const items = await gateway.completeAll([ask("good"), ask("bad")], {
      budget,
      signal,
      purpose: "sub",
      parent: "run",
    });
    await tape[Symbol.asyncDispose]();
    const recorded = await readFile(path, "utf8");
    await rm(directory, { recursive: true });
    expect(items.map(({ ok }) => ok)).toEqual([true, false]);
    expect(recorded.match(/your key is \[key\]/g)).toHaveLength(2);
    const shown = [items, events, gateway, clientFor(model)].map((one) =>
      inspect(one, { depth: 20, showHidden: true }),
    );
    for (const text of [recorded, JSON.stringify([items, events]), ...shown])
      expect(text).not.toContain(scriptedKey.slice(0, 12));
  });
});
