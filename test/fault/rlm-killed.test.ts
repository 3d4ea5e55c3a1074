import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CodecellProcess, launcher } from "../e2e/codecell-process.ts";
import { CommandsHere } from "../e2e/commands-here.ts";
import { descendantsOf, ended } from "../e2e/process-tree.ts";
import {
  type Script,
  type ScriptedReply,
  scriptedKey,
  startScriptedModelServer,
} from "../fakes/scripted-model-server.ts";
import { leftBehind } from "../support/left-behind.ts";
import { eventually, skipsProcess } from "../support/process-cells.ts";

const code = (...lines: string[]) => `\`\`\`python\n${lines.join("\n")}\n\`\`\``;
/** The program of a FAKE model: two questions, one per turn, and their sum. */
const turns = [
  code("first = llm_query('first number?')", "print(first)"),
  code("second = llm_query('second number?')", "print(second)"),
  code("SUBMIT(sum=int(first) + int(second))"),
];
const answers =
  (second: ScriptedReply): Script =>
  (request) => {
    const { system, messages } = request;
    if (system !== undefined) return turns[(messages.length - 1) / 2] ?? "no more";
    // Slower than a replay by more than a second: what is left of the time must not change a prompt.
    return messages[0]?.text.startsWith("first") ? { text: "40", delayMs: 1200 } : second;
  };
const command = ["rlm", "run", "-s", "task -> sum: int", "--value", "task=Add.", "--json", "--runner", "process"];
const model = ["--model", "anthropic/claude-haiku-4-5"];

describe.skipIf(skipsProcess)("a recorded run that is killed while it waits for a model", () => {
  let cwd: string;
  /** for the runs that are not killed */
  let commands: CommandsHere;
  beforeAll(async () => {
    cwd = await mkdtemp(join(tmpdir(), "cc-rlm-killed-"));
    commands = await CommandsHere.open();
  });
  afterAll(async () => {
    await commands[Symbol.asyncDispose]();
    await rm(cwd, { recursive: true, force: true });
  });
  const env = (url: string) => ({ ANTHROPIC_API_KEY: scriptedKey, ANTHROPIC_BASE_URL: url });

  test("is resumed with the same outputs, without paying twice, and with what the lost call may have cost", async () => {
    await using whole = await startScriptedModelServer("anthropic", answers("2"));
    const undisturbed = await commands.run([...command, ...model], { cwd, env: env(whole.url) });
    const expected = JSON.parse(undisturbed.stdout);
    expect(expected).toMatchObject({ finish: "submitted", outputs: { sum: 42 }, model_calls: 5 });

    await using hanging = await startScriptedModelServer("anthropic", answers({ fault: "hang" }));
    const recording = [...command, ...model, "--record", "run.tape", "--trajectory", "first.jsonl"];
    const killed = new CodecellProcess(launcher, recording, { cwd, env: env(hanging.url) });
    await hanging.received(3);
    const below = descendantsOf(killed.pid);
    expect(below.length).toBeGreaterThan(0);
    killed.child.kill("SIGKILL");
    expect((await killed.finished).signal).toBe("SIGKILL");
    await hanging.left(3);
    await Promise.all(below.map((one) => ended(Number(one.split("/")[0]))));

    await using rest = await startScriptedModelServer("anthropic", answers("2"));
    const resuming = [...command, ...model, "--resume", "run.tape", "--trajectory", "second.jsonl"];
    const resumed = await commands.run(resuming, { cwd, env: env(rest.url) });
    const result = JSON.parse(resumed.stdout);
    expect(result).toMatchObject({ finish: "submitted", outputs: expected.outputs, model_calls: 5 });
    expect(result.usage.total.usd).toBe(expected.usage.total.usd);
    // only the call that was lost, and what comes after it
    expect(rest.requests.map(({ messages }) => messages.length)).toEqual([1, 5]);
    const lost = result.spent.tokens - expected.spent.tokens;
    expect(lost).toBeGreaterThanOrEqual(8192);
    expect(lost).toBeLessThan(8192 + 1000);

    const replayed = await commands.run([...command, ...model, "--replay", "run.tape"], { cwd });
    const again = JSON.parse(replayed.stdout);
    expect(again, replayed.stdout).toMatchObject({
      finish: "submitted",
      outputs: expected.outputs,
      spent: result.spent,
    });
  });

  test("leaves no process, no cgroup and no key behind, and a trajectory that can be read", async () => {
    await using hanging = await startScriptedModelServer("anthropic", answers({ fault: "hang" }));
    const mark = `rlm-killed-${process.pid}`;
    const argv = [...command, ...model, "--record", "torn.tape", "--trajectory", "torn.jsonl", "--instructions", mark];
    const killed = new CodecellProcess(launcher, argv, { cwd, env: env(hanging.url) });
    await hanging.received(3);
    killed.child.kill("SIGKILL");
    await killed.finished;
    const left = () => leftBehind([mark]);
    const isClean = () => Object.values(left()).every((list) => list.length === 0);
    if (!(await eventually(isClean))) expect(left()).toEqual({ processes: [], cgroups: [] });
    for (const file of await readdir(cwd, { recursive: true, withFileTypes: true })) {
      if (file.isFile()) expect(await readFile(join(file.parentPath, file.name), "utf8")).not.toContain(scriptedKey);
    }
    const shown = await commands.run(["rlm", "show", "torn.jsonl"], { cwd });
    expect({ code: shown.code, text: shown.stdout }).toMatchObject({
      code: 0,
      text: expect.stringContaining("second number"),
    });
    // nothing can be sent without a key: a resumed run says which one is missing
    const keyless = await commands.run([...command, ...model, "--resume", "torn.tape"], {
      cwd,
      env: { ANTHROPIC_API_KEY: "" },
    });
    expect(keyless.code).not.toBe(0);
    expect(keyless.stdout + keyless.stderr).toContain("ANTHROPIC_API_KEY");
  });
});
