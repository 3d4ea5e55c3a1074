import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type CellScript, ScriptedCell } from "../../../test/fakes/scripted-cell.ts";
import { ScriptedLm, testPrices } from "../../../test/fakes/scripted-lm.ts";
import { Tape } from "../../llm/tape/tape.ts";
import { runRlm } from "./run-rlm.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "codecell-replay-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const fence = (code: string) => `\`\`\`python\n${code}\n\`\`\``;
const code: CellScript = {
  batch: async ({ call, print }) => print(String(await call("llm_query_batched", { prompts: ["a", "b", "c"] }))),
  agent: async ({ call, fork }) =>
    call("SUBMIT", { answer: await fork("rlm_query", "part -> summary", { part: "p" }) }),
  child: ({ call }) => call("SUBMIT", { summary: "short" }),
  agents: async ({ call, fork }) => {
    const inputs = Array.from({ length: 7 }, (_, n) => ({ part: `part ${n}` }));
    await call("SUBMIT", { answer: await fork("rlm_query_batched", "part -> size: int", inputs) });
  },
  look: async ({ call, print, variables }) =>
    print(String(await call("llm_query", { prompt: String(variables.get("part")) }))),
  count: ({ call, variables }) => call("SUBMIT", { size: String(variables.get("part")).length }),
};
const live = () =>
  new ScriptedLm(async ({ model, system, messages }, index) => {
    if (model === "sub") {
      await new Promise((resolve) => setTimeout(resolve, 10 - index));
      return `answer to ${messages[0]?.text}`;
    }
    return fence(system?.includes("- summary (str)") ? "child" : messages.length === 1 ? "batch" : "agent");
  });

async function perform(lm: ScriptedLm, tape: Tape, { text = "abc", now = Date.now } = {}) {
  await using _tape = tape;
  const run = runRlm({
    ...{ signature: "text -> answer: Any", inputs: { text: { value: text } }, root: "root", sub: "sub" },
    ...{ models: lm.gateway({ tape }), prices: testPrices, cell: new ScriptedCell(code), now },
  });
  return await run.result;
}

/** Seconds pass between any two looks at it. */
function slowClock(): () => number {
  let ms = Date.now();
  return () => (ms += 7000);
}

test("a replay needs no model, and gives the same outputs at the same cost, however slow it is", async () => {
  const path = join(dir, "tape.jsonl");
  const recorded = await perform(live(), await Tape.record(path));
  expect(recorded).toMatchObject({ finish: "submitted", outputs: { answer: { summary: "short" } }, calls: 6 });
  const silent = new ScriptedLm(() => new Error("no model may be asked"));
  const replayed = await perform(silent, await Tape.replay(path), { now: slowClock() });
  expect(silent.requests).toEqual([]);
  expect(replayed).toMatchObject({ finish: "submitted", outputs: recorded.outputs, usage: recorded.usage });
});

test("a replay of sub-agents at the same time matches, although they end in another order", async () => {
  const path = join(dir, "tape.jsonl");
  const waits = [40, 5, 25, 1, 30, 10, 20];
  const model = new ScriptedLm(async ({ model: name, system, messages }) => {
    if (name === "sub") {
      await new Promise((resolve) => setTimeout(resolve, waits[Number(messages[0]?.text.at(-1))]));
      return "seen";
    }
    return fence(system?.includes("- size (int)") ? (messages.length === 1 ? "look" : "count") : "agents");
  });
  const recorded = await perform(model, await Tape.record(path));
  const replayed = await perform(new ScriptedLm(() => new Error("no model may be asked")), await Tape.replay(path));
  expect(recorded).toMatchObject({ finish: "submitted", calls: 1 + 7 * 3 });
  const { usd, ...usage } = replayed.usage.total;
  expect(replayed).toMatchObject({ finish: "submitted", outputs: recorded.outputs });
  expect(recorded.usage.total).toMatchObject(usage);
  expect(recorded.usage.total.usd).toBeCloseTo(usd, 12);
});

test("a replay with another input is named drift", async () => {
  const path = join(dir, "tape.jsonl");
  await perform(live(), await Tape.record(path));
  const drifted = await perform(live(), await Tape.replay(path), { text: "other" });
  expect(drifted).toMatchObject({ finish: "error", error: { code: "replay_drift" } });
});
