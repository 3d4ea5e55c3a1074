import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RlmOptions, runRlm } from "../../src/rlm/loop/run-rlm.ts";
import { forkedCell, sessionCell } from "../../src/rlm/loop/session-cell.ts";
import { readTrajectory } from "../../src/rlm/trajectory/reader.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import type { Codecell } from "../../src/sessions/codecell.ts";
import type { Session } from "../../src/sessions/session.ts";
import { type LmScript, ScriptedLm, testPrices } from "../fakes/scripted-lm.ts";
import { newStateDir, openManager, removeStateDir } from "../support/managers.ts";
import { skipsProcess } from "../support/process-cells.ts";
import { skipOrFail } from "./required.ts";

const wasm = wasmRunner();
const skipsWasm = skipOrFail("wasm", await wasm.probe());
await wasm[Symbol.asyncDispose]();

const fence = (code: string) => `\`\`\`python\n${code}\n\`\`\``;

/** The loop in real cells, with scripted models. */
describe.skipIf(skipsProcess)("a recursive run in a session", () => {
  let stateDir: string;
  let codecell: Codecell;
  let session: Session;
  beforeAll(async () => {
    stateDir = await newStateDir();
    codecell = await openManager(stateDir, { proc: { timeout: "30s" } });
    session = await codecell.session();
  });
  afterAll(async () => {
    await codecell[Symbol.asyncDispose]();
    await removeStateDir(stateDir);
  });

  async function perform(script: LmScript, options: Partial<RlmOptions> = {}) {
    const lm = new ScriptedLm(script);
    const common = { root: "root", sub: "sub", models: lm.gateway(), prices: testPrices };
    const run = runRlm({
      signature: "text -> answer: Any",
      inputs: {},
      cell: sessionCell(session),
      ...common,
      ...options,
    });
    return { result: await run.result, lm, told: (index: number) => lm.to("root")[index]?.messages.at(-1)?.text ?? "" };
  }
  const saying =
    (...codes: string[]): LmScript =>
    ({ model, messages }, index) =>
      model === "sub" ? `answer to ${messages[0]?.text}` : fence(codes[index] ?? "pass");

  test("sees its inputs, prints, asks models from several threads and submits typed outputs", async () => {
    const code = [
      "from concurrent.futures import ThreadPoolExecutor",
      "with ThreadPoolExecutor(4) as pool:",
      "    first = list(pool.map(llm_query, ['a', 'b']))",
      "both = first + llm_query_batched(['c', 'd'])",
      "SUBMIT(both, n='3')",
    ].join("\n");
    const { result, told } = await perform(
      ({ model, messages }, index) =>
        model === "sub"
          ? `answer to ${messages[0]?.text}`
          : fence(index === 0 ? "print(len(text), text[:2])\nSHOW_VARS()" : code),
      { signature: "text -> both: list[str], n: int", inputs: { text: { value: "x".repeat(3000) } } },
    );
    expect(result).toMatchObject({
      finish: "submitted",
      outputs: { both: ["a", "b", "c", "d"].map((text) => `answer to ${text}`), n: 3 },
    });
    expect(told(0)).toContain("Length: 3,000 characters");
    expect(told(1)).toContain("3000 xx");
    expect(told(1)).toContain("'text': 'str'");
  });

  test("gets errors of its code, of SUBMIT and of functions as exceptions that it can read", async () => {
    const { result, told } = await perform(
      saying(
        "1 / 0",
        "llm_query('')",
        "SUBMIT(answer='x', n=1)",
        "SUBMIT('one')",
        "print(budget()['calls_left'])",
        "SUBMIT(1)",
      ),
      { signature: "text -> n: int", inputs: { text: { value: "t" } } },
    );
    expect(result).toMatchObject({ finish: "submitted", outputs: { n: 1 }, iterations: 6 });
    expect(told(1)).toContain("ZeroDivisionError");
    expect(told(2)).toContain("ValueError: prompt is empty");
    expect(told(3)).toContain("unexpected keyword argument 'answer'");
    expect(told(4)).toContain('- n: expected int, got str "one"');
    expect(told(5)).toContain("50");
    for (let turn = 1; turn < 6; turn++) expect(told(turn)).not.toContain("codecell_kernel");
  });

  test("marks a failed call of a batch in place", async () => {
    const code = "got = llm_query_batched(['a', 'b'])\nSUBMIT([[str(one), getattr(one, 'ok', True)] for one in got])";
    const { result } = await perform(
      ({ model, messages }) =>
        model === "root" ? fence(code) : messages[0]?.text === "a" ? "fine" : new Error("broken"),
      { inputs: { text: { value: "t" } } },
    );
    expect(result.outputs?.answer).toEqual([
      ["fine", true],
      [expect.stringContaining("[ERROR]"), false],
    ]);
  });

  test("starts sub-agents in forks, with inputs by reference and nothing else of the parent", async () => {
    const code = [
      "class Odd: pass",
      "odd, secret = Odd(), 'parent only'",
      "parts = [{'part': 'a' * 2000, 'thing': odd}, {'part': 'b', 'thing': odd}]",
      "one = rlm_query('part, thing: Any -> size: int, names: list[str]', part='abc', thing=odd)",
      "many = rlm_query_batched('part, thing: Any -> size: int, names: list[str]', parts)",
      "SUBMIT([one, *many, secret])",
    ].join("\n");
    const child = [
      "names = sorted(name for name in globals() if not name.startswith('_'))",
      "secret = type(thing).__name__",
      "SUBMIT(size=len(part), names=names + [secret])",
    ].join("\n");
    const { result } = await perform(({ system }) => fence(system?.includes("- size (int)") ? child : code), {
      inputs: { text: { value: "t" } },
    });
    const names = ["part", "thing", "Odd"];
    expect(result).toMatchObject({ finish: "submitted" });
    expect(result.outputs?.answer).toEqual([
      { size: 3, names },
      { size: 2000, names },
      { size: 1, names },
      "parent only",
    ]);
    expect((await session.run("1 + 1")).value).toBe("2");
  });

  test("asks a model once at the depth limit, and reads the inputs out of the cell", async () => {
    const { result, lm } = await perform(
      ({ model }) =>
        model === "sub" ? '{"summary": "short"}' : fence("SUBMIT(rlm_query('part: list -> summary', part=[1, 'ä']))"),
      { inputs: { text: { value: "t" } }, limits: { maxDepth: 0 } },
    );
    expect(result.outputs).toEqual({ answer: { summary: "short" } });
    expect(lm.to("sub")[0]?.messages[0]?.text).toContain('# part\n\n[1, "ä"]');
  });

  test("works on variables of a session in a copy, and leaves the session as it was", async () => {
    await session.run("docs = ['one', 'two'] * 400\nkept = 1");
    await using cell = await forkedCell(session);
    const { result, told } = await perform(saying("kept = 2\ntext = 0\nSUBMIT(len(documents))"), {
      ...{ cell, signature: "documents: list[str] -> answer: int", inputs: { documents: { var: "docs" } } },
    });
    expect(result.outputs).toEqual({ answer: 800 });
    expect(told(0)).toContain("Type: list");
    expect(told(0)).toContain("Length: 2,400 characters");
    expect((await session.run("kept, 'documents' in globals(), 'SUBMIT' in dir(__builtins__)")).value).toContain(
      "(1, False",
    );
  });

  test("stops code that runs when it is cancelled, and the session lives on", async () => {
    const controller = new AbortController();
    const lm = new ScriptedLm(() => fence("import time\ntime.sleep(60)"));
    const run = runRlm({
      ...{ signature: "-> answer", inputs: {}, root: "root", models: lm.gateway(), prices: testPrices },
      ...{ cell: sessionCell(session), signal: controller.signal },
    });
    for await (const event of run.events) if (event.type === "code") controller.abort(new Error("enough"));
    expect(await run.result).toMatchObject({ finish: "cancelled", message: "enough" });
    expect((await session.run("6 * 7")).value).toBe("42");
  });

  test("records a trajectory that reads back intact", async () => {
    const dir = await mkdtemp(join(tmpdir(), "codecell-rlm-"));
    try {
      const trajectoryPath = join(dir, "run.jsonl");
      await perform(saying("SUBMIT('done')"), { inputs: { text: { value: "t" } }, trajectoryPath });
      const { events, problem } = await readTrajectory(trajectoryPath);
      expect(problem).toBeUndefined();
      expect(events.at(-1)).toMatchObject({ type: "finish", finish: "submitted", outputs: { answer: "done" } });
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });
});

describe.skipIf(skipsWasm)("a recursive run on the wasm runner", () => {
  test("asks models and submits, and its code sees that sub-agents need forks", async () => {
    const stateDir = await newStateDir();
    try {
      await using codecell = await openManager(stateDir, {}, { runners: [wasmRunner()] });
      const session = await codecell.session();
      const code = [
        "try:",
        "    rlm_query('part -> summary', part=text)",
        "except NotImplementedError as error:",
        "    reason = str(error)",
        "SUBMIT([llm_query(text), *llm_query_batched(['a', 'b']), reason])",
      ].join("\n");
      const lm = new ScriptedLm(({ model, messages }) => (model === "sub" ? `re: ${messages[0]?.text}` : fence(code)));
      const run = runRlm({
        ...{ signature: "text -> answer: list[str]", inputs: { text: { value: "t" } }, root: "root", sub: "sub" },
        ...{ models: lm.gateway(), prices: testPrices, cell: sessionCell(session) },
      });
      const { finish, outputs } = await run.result;
      expect({ finish, outputs }).toEqual({
        finish: "submitted",
        outputs: { answer: ["re: t", "re: a", "re: b", expect.stringContaining("does not support forks")] },
      });
    } finally {
      await removeStateDir(stateDir);
    }
  });
});
