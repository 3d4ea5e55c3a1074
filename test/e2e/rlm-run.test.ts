import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Script,
  type SeenRequest,
  scriptedKey,
  startScriptedModelServer,
} from "../fakes/scripted-model-server.ts";
import { availableRunners, CodecellProcess, codecell, type Finished, launcher } from "./codecell-process.ts";
import { CommandsHere } from "./commands-here.ts";

const model = "anthropic/claude-sonnet-5-5";
const code = (...lines: string[]) => `Let me look.\n\n\`\`\`python\n${lines.join("\n")}\n\`\`\``;
let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-rlm-"));
  const lines = Array.from({ length: 2000 }, (_, at) => `line ${at}: ${at === 1234 ? "the code is 7391" : "nothing"}`);
  await writeFile(join(cwd, "log.txt"), lines.join("\n"));
});
afterAll(() => rm(cwd, { recursive: true }));

type Run = (argv: readonly string[], options: { cwd: string; env: Record<string, string> }) => Promise<Ended>;
type Ended = Omit<Finished, "signal">;

/** Runs `codecell rlm run` against a FAKE model that plays a script. */
async function rlm(run: Run, script: Script, argv: readonly string[], env: Record<string, string> = {}) {
  await using server = await startScriptedModelServer("anthropic", script);
  const finished = await run(["rlm", "run", ...argv], {
    ...{ cwd, env: { ANTHROPIC_API_KEY: scriptedKey, ANTHROPIC_BASE_URL: server.url, ...env } },
  });
  return { ...finished, requests: server.requests };
}

const find = ["-s", "question, log -> code: int", "--value", "question=Which code?", "--input", "log=log.txt"];

describe.each(await availableRunners())("codecell rlm run in the %s runner, with a scripted model", (runner) => {
  let trajectory: string;
  let ended: Awaited<ReturnType<typeof rlm>>;
  /** the requests for turns, without those about parts */
  let turns: SeenRequest[];
  beforeAll(async () => {
    trajectory = join(cwd, `${runner}.jsonl`);
    const written = [
      code("import re", "hits = re.findall(r'code is (\\d+)', log)", "print(len(log), hits)"),
      code(
        "import os",
        "print(dict(os.environ))",
        "print(open('/proc/self/environ').read() if os.path.exists('/proc/self/environ') else '')",
      ),
      code(
        "answers = llm_query_batched([f'part {i}' for i in range(3)])",
        "print([getattr(a, 'ok', True) for a in answers], answers[0], answers[2])",
      ),
      code("SUBMIT(code=int(hits[0]) + len(answers))"),
    ];
    const script: Script = ({ messages }) => {
      const last = messages.at(-1)?.text ?? "";
      if (last.startsWith("part"))
        return last === "part 1" ? { fault: "status", status: 400, message: "no" } : `saw ${last}`;
      return written[(messages.length - 1) / 2] ?? "nothing";
    };
    const argv = [...find, "--runner", runner, "--model", model, "--trajectory", trajectory];
    ended = await rlm(codecell, script, argv);
    turns = ended.requests.filter(({ messages }) => !messages.at(-1)?.text.startsWith("part"));
  });

  test("prints typed outputs that code found in a file which never enters a prompt", () => {
    const { stdout, stderr, code: exit } = ended;
    expect({ stdout, exit }, stderr).toEqual({ stdout: "code: 7394\n", exit: 0 });
    expect(stderr).toMatch(/turn 1\/20.*\n.*ok.*'7391'.*\nturn 2\/20/);
    expect(stderr).toContain("submitted");
    expect(JSON.stringify(turns[0]?.body)).not.toContain("7391");
    expect(turns[1]?.messages.at(-1)?.text).toContain("['7391']");
  });

  test("keeps the key out of the cell, its output and its files", async () => {
    const { stdout, stderr, requests } = ended;
    const sent = JSON.stringify(requests.map(({ body }) => body));
    const everything = [stdout, stderr, sent, await readFile(trajectory, "utf8")];
    expect(everything.join("\n")).not.toContain(scriptedKey);
    expect(turns[2]?.messages.at(-1)?.text).toContain("'HOME'"); // the variables were printed
  });

  test("asks models about parts, in order, and marks the calls that failed", () => {
    expect(turns.at(-1)?.messages.at(-1)?.text).toContain("[True, False, True] saw part 0 saw part 2");
  });
});

describe("codecell rlm run", () => {
  const where = ["--model", model];
  let commands: CommandsHere;
  beforeAll(async () => {
    commands = await CommandsHere.open();
  });
  afterAll(() => commands[Symbol.asyncDispose]());
  const here: Run = (argv, options) => commands.run(argv, options);

  test("replays a recorded run without a model and without a key", async () => {
    const script = [code("n = llm_query('how many?')", "print(n)"), "42", code("SUBMIT(code=int(n))")];
    const recorded = await rlm(here, script, [...find, ...where, "--record", "run.tape", "--json"]);
    const first = JSON.parse(recorded.stdout);
    expect(first).toMatchObject({ finish: "submitted", outputs: { code: 42 }, turns: 2, model_calls: 3 });
    const again = await commands.run(["rlm", "run", ...find, ...where, "--replay", "run.tape", "--json"], { cwd });
    const second = JSON.parse(again.stdout);
    expect(second).toMatchObject({ finish: "submitted", outputs: { code: 42 } });
    expect(second.usage.total.usd).toBe(first.usage.total.usd);
    const changed = ["-s", "question, log -> code: int", "--value", "question=Another?", "--input", "log=log.txt"];
    const drifted = await commands.run(["rlm", "run", ...changed, ...where, "--replay", "run.tape", "--json"], { cwd });
    expect(JSON.parse(drifted.stdout)).toMatchObject({ finish: "error", outputs: null });
    expect(drifted.code).toBe(1);
  });

  test("takes no model from the environment that the policy does not allow", async () => {
    await writeFile(join(cwd, "strict.policy.yaml"), "llm:\n  models: [openai/*]\n");
    const chosen = { CODECELL_MODEL: model };
    const refused = await rlm(here, [], [...find, "--policy", "strict.policy.yaml"], chosen);
    expect(refused.stderr).toContain(`the policy does not allow the model ${model}`);
    expect([refused.code, refused.requests]).toEqual([4, []]);
    const typed = await rlm(
      here,
      [code("SUBMIT(code=1)")],
      [...find, "--policy", "strict.policy.yaml", "--model", model],
    );
    expect(typed.stdout).toBe("code: 1\n");
  });

  test("never spends more than the money cap, whatever the code asks for", async () => {
    const script: Script = ({ messages }) =>
      messages[0]?.text.startsWith("x")
        ? "y".repeat(400)
        : code("answers = llm_query_batched(['x' * 4000] * 40)", "print(len(answers))");
    const { stdout, code: exit } = await rlm(here, script, [...find, ...where, "--max-usd", "0.30", "--json"]);
    const result = JSON.parse(stdout);
    expect(result.usage.total.usd).toBeLessThanOrEqual(0.3);
    expect(result).toMatchObject({ outputs: null });
    expect(exit).toBe(1);
  });

  test("one Ctrl-C ends it with exit code 130, and calls in flight are recorded before the end at their worst case", async () => {
    const script: Script = ({ messages }) =>
      messages.at(-1)?.text === "hang"
        ? { fault: "hang" }
        : code("answers = llm_query_batched(['hang'] * 3)", "print(answers)");
    await using server = await startScriptedModelServer("anthropic", script);
    const trajectory = join(cwd, "interrupted.jsonl");
    const argv = ["rlm", "run", ...find, ...where, "--trajectory", trajectory, "--json"];
    const env = { ANTHROPIC_API_KEY: scriptedKey, ANTHROPIC_BASE_URL: server.url };
    const running = new CodecellProcess(launcher, argv, { cwd, env });
    await server.received(3);
    process.kill(running.pid, "SIGINT");
    const { code: exit, stdout, stderr } = await running.finished;
    const { finish, model_calls, usage } = JSON.parse(stdout);
    expect({ exit, finish, model_calls }, stderr).toEqual({ exit: 130, finish: "cancelled", model_calls: 4 });
    expect(usage.total.usd).toBeGreaterThan(3 * 0.08); // 8,192 tokens of output each
    const events = (await readFile(trajectory, "utf8")).trim().split("\n");
    expect(events.map((line) => JSON.parse(line).event.type).at(-1)).toBe("finish");
  });

  test("converts a --value to the type of its input", async () => {
    const script = [code("print(type(n), tags)"), code("SUBMIT(code=n)")];
    const argv = ["-s", "n: int, tags: list[str] -> code: int", "--value", "n=5", "--value", 'tags=["a"]', ...where];
    const { stdout, requests } = await rlm(here, script, argv);
    expect(requests[1]?.messages.at(-1)?.text).toContain("<class 'int'> ['a']");
    expect(stdout).toBe("code: 5\n");
  });

  test("reads a file as text if its input is a str, whatever the file is called", async () => {
    await writeFile(join(cwd, "data.json"), '{"a": 1}');
    const script = [code("print(type(text), type(data))"), code("SUBMIT(code=1)")];
    const argv = ["-s", "text, data: dict[str, int] -> code: int", "--input", "text=data.json", "--input"];
    const { requests } = await rlm(here, script, [...argv, "data=data.json", ...where]);
    expect(requests[1]?.messages.at(-1)?.text).toContain("<class 'str'> <class 'dict'>");
  });

  test("accepts a model without a price if --max-usd is unlimited", async () => {
    await using server = await startScriptedModelServer("openai", [code("x = 1"), code("SUBMIT(code=1)")]);
    const env = { OPENAI_API_KEY: scriptedKey, OPENAI_BASE_URL: server.url };
    const argv = ["rlm", "run", ...find, "--model", "openai/local", "--max-usd", "unlimited"];
    expect(await commands.run(argv, { cwd, env })).toMatchObject({ stdout: "code: 1\n", code: 0 });
  });

  test.each([
    [["-s", "question answer", ...where], 2, "->"],
    [["-s", "question -> answer", "--value", "question", ...where], 2, "NAME=TEXT"],
    [["-s", "question -> answer", ...where], 2, "question"],
    [["-s", "log -> answer", "--input", "log=missing.txt", ...where], 1, "missing.txt"],
    [["-s", "log -> answer", "--input", "log=-", ...where], 1, "/dev/stdin"],
    [["-s", "n: int -> answer", "--value", "n=five", ...where], 2, 'expected int, got str "five"'],
    [["-s", "docs: list[str] -> answer", "--input", "docs=log.txt", ...where], 2, "log.txt holds a str"],
    [[...find, "--max-usd", "0", ...where], 2, "--max-usd 0 is not an amount above 0"],
    [[...find, "--max-usd", "", ...where], 2, "--max-usd '' is not"],
    [[...find, "--max-turns", "0", ...where], 2, "--max-turns 0 is not a whole number above 0"],
    [[...find, "--depth", "4", ...where], 2, "--depth 4 is not a whole number from 0 to 3"],
    [["-s", "question -> answer", "--value", "question=x"], 4, "--model"],
    [["-s", "question -> answer", "--value", "question=x", "--model", "openai/gpt-nobody-knows"], 4, "price"],
  ])("reports what is wrong and what to do: %j", async (argv, exit, said) => {
    const finished = await rlm(here, [], argv, { CODECELL_MODEL: "", OPENAI_API_KEY: "sk-x" });
    expect(finished.stderr).toContain(said);
    expect(finished.requests).toEqual([]);
    expect(finished.code).toBe(exit);
  });
});
