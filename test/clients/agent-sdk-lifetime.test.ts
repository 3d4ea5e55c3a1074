import { randomInt } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Query } from "@anthropic-ai/claude-agent-sdk";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Codecell } from "../../src/index.ts";
import { type QuerySandbox, sandboxedCodeServer } from "../../src/surfaces/agent-sdk/index.ts";
import { descendantsOf } from "../e2e/process-tree.ts";
import { descriptors } from "../support/descriptors.ts";
import { isThorough } from "../support/thorough.ts";
import { AgentHome, calling, readToEnd, run, seenTexts, userMessage } from "./agent-sdk.ts";
import { lacking } from "./lacking.ts";
import { startScriptedMessagesApi } from "./scripted-messages-api.ts";

describe.skipIf(await lacking("claude", "process runner"))("the sandbox of a query", () => {
  let agent: AgentHome;
  beforeAll(async () => {
    agent = await AgentHome.open();
  });
  afterAll(() => agent?.[Symbol.asyncDispose]());

  const ends: Record<string, (query: Query, abort: AbortController) => unknown> = {
    "the abort controller aborts": (_query, abort) => abort.abort(),
    "the query is closed": (query) => query.close(),
    "the reader leaves the iteration": (query) => query.return(),
  };
  test.each(Object.entries(ends))("ends in the middle of a run when %s", async (_name, end) => {
    const mark = newMark();
    const abortController = new AbortController();
    let sandbox: QuerySandbox | undefined;
    await using api = await startScriptedMessagesApi(calling(sleeping(mark)));
    const query = agent.query(api, {
      abortController,
      onSession(opened) {
        sandbox = opened;
      },
    });
    const reading = readToEnd(query);
    await vi.waitFor(() => expect(processesWith(mark)).not.toEqual([]), { timeout: 60_000 });
    await end(query, abortController);
    await reading;
    await query[Symbol.asyncDispose]();
    expect(processesWith(mark)).toEqual([]);
    await expect(async () => sandbox?.session.run("1")).rejects.toMatchObject({ code: "session_closed" });
  });

  test("stops its run but keeps its variables when the query is interrupted", async () => {
    const mark = newMark();
    await using api = await startScriptedMessagesApi([
      () => [run("kept = 41")],
      () => [sleeping(mark)],
      () => [run("print('kept:', kept + 1)")],
      () => "That was all.",
    ]);
    let next: (prompt: string) => void = () => {};
    const second = new Promise<string>((resolve) => {
      next = resolve;
    });
    async function* prompts() {
      yield userMessage("go");
      yield userMessage(await second);
    }
    const query = agent.query(api, {}, prompts());
    let results = 0;
    const interrupting = vi
      .waitFor(() => expect(processesWith(mark)).not.toEqual([]), { timeout: 60_000 })
      .then(() => query.interrupt());
    for await (const message of query) {
      if (message.type !== "result") continue;
      results++;
      await interrupting;
      await vi.waitFor(() => expect(processesWith(mark)).toEqual([]), { timeout: 20_000 });
      next("again");
    }
    expect(results).toBe(2);
    expect(api.seen.at(-1)?.texts.join("\n")).toContain("kept: 42");
  });

  test("ends when the query is closed before its sandbox is open, and a query that was aborted before never starts", async () => {
    await using api = await startScriptedMessagesApi(calling(run("1")));
    const closed = agent.query(api);
    closed.close();
    expect(await closed.next()).toEqual({ done: true, value: undefined });
    const abortController = new AbortController();
    abortController.abort();
    await expect(agent.query(api, { abortController }).next()).rejects.toMatchObject({ code: "aborted" });
    const slow = new AbortController();
    const onSession = () => {
      slow.abort();
      return new Promise<void>(() => {}); // a host program that never answers
    };
    await expect(agent.query(api, { abortController: slow, onSession }).next()).rejects.toMatchObject({
      code: "aborted",
    });
    expect([...api.paths]).toEqual([]);
  });

  test("ends when the query is aborted while it waits for a free place", async () => {
    const policy = { session: { limit: 1 } };
    await using codecell = await Codecell.open({ policy, stateDir: join(agent.home.top, "full-state") });
    const first = await codecell.session();
    const abortController = new AbortController();
    const opening = vi.spyOn(codecell, "session");
    await using api = await startScriptedMessagesApi([]);
    const step = agent.query(api, { codecell, abortController }).next();
    step.then(undefined, () => {});
    await vi.waitFor(() => expect(opening).toHaveBeenCalled(), { timeout: 30_000 });
    abortController.abort();
    await expect(step).rejects.toMatchObject({ code: "aborted" });
    await first.close();
    await opening.mock.results[0]?.value;
    // the session that came too late is closed
    await vi.waitFor(() => expect(codecell.aliveIds()).toEqual([]), { timeout: 30_000 });
  });

  test("times out by the policy of the caller's codecell, which stays open without the session of the query", async () => {
    const policy = { proc: { timeout: "1s" } };
    await using codecell = await Codecell.open({ policy, stateDir: join(agent.home.top, "own-state") });
    const talk = await agent.talk(calling(run("while True: pass")), { codecell });
    expect(seenTexts(talk)[0]).toMatch(/^status: timeout[\s\S]*proc\.timeout/);
    expect(codecell.aliveIds()).toEqual([]);
    expect((await (await codecell.session()).run("6 * 7")).value).toBe("42");
  });

  test("leaves nothing behind after many of them, some with a whole query", async () => {
    // a whole one takes two seconds of CPU time
    const [all, full] = isThorough ? [100, 12] : [10, 2];
    const stateDir = join(agent.home.top, "many-state");
    await using codecell = await Codecell.open({ stateDir });
    // the first ones load code and start what is shared, such as the template of the policy
    await askMany(1);
    await Promise.all([callDirectly(codecell), callDirectly(codecell)]);
    const before = { processes: descendantsOf(process.pid).length, files: descriptors(process.pid) };
    await askMany(full);
    for (let left = all - full; left > 0; left -= 8) {
      await Promise.all(Array.from({ length: Math.min(8, left) }, () => callDirectly(codecell)));
    }
    expect(codecell.aliveIds()).toEqual([]);
    const limit = { timeout: 30_000 };
    await vi.waitFor(() => expect(descendantsOf(process.pid).length).toBeLessThanOrEqual(before.processes), limit);
    // What each query leaves behind adds up to `full` at least. Something shared may be opened once, whenever it is first needed.
    await vi.waitFor(() => {
      const now = descriptors(process.pid);
      const more = now.filter((target) => !before.files.includes(target));
      expect(now.length, `opened since: ${more.join(", ")}`).toBeLessThan(before.files.length + full);
    }, limit);

    async function askMany(count: number): Promise<void> {
      await using api = await startScriptedMessagesApi(calling(run("print('one of many')")));
      const four = Array.from({ length: 4 }, async (_, at) => {
        for (let left = Math.floor((count + at) / 4); left > 0; left--) {
          const { failure, result } = await readToEnd(agent.query(api, { stateDir }));
          expect({ failure, result }).toEqual({ failure: undefined, result: "That was all." });
        }
      });
      await Promise.all(four);
    }
  });
});

/** What a query does with the parts of its sandbox, without Claude Code, which takes most of the time. */
async function callDirectly(codecell: Codecell): Promise<void> {
  await using code = await sandboxedCodeServer(codecell);
  const [near, far] = InMemoryTransport.createLinkedPair();
  await code.server.instance.connect(far);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(near);
  const reply = await client.callTool({ name: "run", arguments: { code: "6 * 7" } });
  expect(JSON.stringify(reply.content)).toContain("42");
  await client.close();
}

function newMark(): string {
  return String(randomInt(100_000_000, 999_999_999));
}

/** Code that runs a process which can be found by its command line. */
function sleeping(mark: string) {
  return run(`sleep ${mark}`, { language: "bash" });
}

function processesWith(mark: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(mark);
    } catch {
      return false;
    }
  });
}
