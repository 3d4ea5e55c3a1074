import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ModelAccess } from "../../src/rlm/access/model-access.ts";
import { SubAgents } from "../../src/service/rlm/sub-agents.ts";
import type { Codecell } from "../../src/sessions/codecell.ts";
import { type ClientScript, scriptedLmClient } from "../fakes/scripted-lm-client.ts";
import { newStateDir, openManager, removeStateDir } from "../support/managers.ts";
import { skipsProcess } from "../support/process-cells.ts";

const model = "anthropic/claude-haiku-4-5";
const code = (text: string) => `\`\`\`python\n${text}\n\`\`\``;
const task = { signature: "q -> a: int", inputs: { q: { value: "x" } } };
const patient = { waitMs: 20_000, signal: new AbortController().signal };

describe.skipIf(skipsProcess)("sub-agents of one client", () => {
  let stateDir: string;
  let codecell: Codecell;
  beforeAll(async () => {
    stateDir = await newStateDir();
    codecell = await openManager(stateDir, { proc: { timeout: "30s" }, llm: { models: [model], usd: 10 } });
  });
  afterAll(async () => {
    await codecell[Symbol.asyncDispose]();
    await removeStateDir(stateDir);
  });

  function agents(script: ClientScript) {
    const client = scriptedLmClient(script);
    const access = ModelAccess.open(() => codecell.policy, { root: model, clientFor: () => client });
    return new SubAgents({ access: async () => access, newSession: () => codecell.session() });
  }

  test("end with an error, and free their place, if their session is closed before the outputs are stored", async () => {
    const session = await codecell.session();
    let submit: (text: string) => void = () => {};
    let asked: () => void = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    await using running = agents(() => {
      asked();
      return new Promise((resolve) => {
        submit = resolve;
      });
    });
    const id = await running.start(session, task);
    await isAsked;
    await session.close({ forget: true });
    submit(code("SUBMIT(a=1)"));
    const { result } = await running.wait(id, patient);
    expect(result).toMatchObject({ finish: "error", outputs: null });
  });

  test("are at most four at a time, and the error names the ones that work", async () => {
    const session = await codecell.session();
    await using running = agents(
      (_request, _index, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    const ids: string[] = [];
    for (let at = 0; at < 4; at++) ids.push(await running.start(session, task));
    await expect(running.start(session, task)).rejects.toMatchObject({
      ...{ code: "run_limit", hint: expect.stringContaining(ids[3] as string) },
    });
    running.cancel(ids[0] as string);
    expect((await running.wait(ids[0] as string, patient)).result).toMatchObject({ finish: "cancelled" });
    expect(await running.start(session, task)).toMatch(/^rlm-/);
  });

  test("started by code have as many turns as those of a client", async () => {
    const session = await codecell.session();
    const { SessionModels } = await import("../../src/rlm/access/session-models.ts");
    const replies = [code("n = 20"), code("n += 1"), code("SUBMIT(a=n * 2)")];
    const client = scriptedLmClient((_request, index) => replies[index] ?? "no more");
    const access = ModelAccess.open(() => codecell.policy, { root: model, clientFor: () => client });
    await new SessionModels(access).prepare(session);
    const { stdout, error } = await session.run("print(rlm_query('q -> a: int', q='x'))");
    expect(stdout, error?.message).toBe("{'a': 42}\n");
  });
});
