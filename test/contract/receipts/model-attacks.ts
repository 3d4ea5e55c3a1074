import { expect } from "vitest";
import { openModels } from "../../../src/rlm/access/environment-models.ts";
import type { ModelAccess } from "../../../src/rlm/access/model-access.ts";
import { SessionModels } from "../../../src/rlm/access/session-models.ts";
import { SubAgents } from "../../../src/service/rlm/sub-agents.ts";
import type { Session } from "../../../src/sessions/session.ts";
import {
  type Script,
  type ScriptedModelServer,
  type SeenRequest,
  scriptedKey,
  startScriptedModelServer,
} from "../../fakes/scripted-model-server.ts";
import { type Attack, printed } from "./attacked.ts";

/** The model that the policies of these attacks allow. */
export const allowedModel = "anthropic/claude-haiku-4-5";

interface Models {
  /** has the functions that call models */
  readonly session: Session;
  readonly server: ScriptedModelServer;
  readonly access: ModelAccess;
  /** another session of the same client */
  another(): Promise<Session>;
}

/** An attack by a program that can call a FAKE model: a real server with a script, and the real way there. */
function withModels(script: Script, attack: (models: Models) => Promise<void>): Attack {
  return async ({ fresh, policy }) => {
    await using server = await startScriptedModelServer("anthropic", script);
    const env = {
      CODECELL_MODEL: allowedModel,
      ANTHROPIC_API_KEY: scriptedKey,
      ANTHROPIC_BASE_URL: server.url,
    };
    const access = await openModels(env, () => policy);
    const functions = new SessionModels(access);
    const opened: Session[] = [];
    const another = async () => {
      const session = await fresh();
      opened.push(session);
      await functions.prepare(session);
      return session;
    };
    try {
      await attack({ session: await another(), server, access, another });
    } finally {
      for (const session of opened) await session.close({ forget: true });
    }
  };
}

/** Python that says what each call gave, or the kind of failure and its message. */
const attempting = (...calls: string[]) => `
def attempt(call):
    try: return call()
    except Exception as error: return [getattr(error, "type", type(error).__name__), str(error)]
print(json.dumps([${calls.map((call) => `attempt(lambda: ${call})`).join(", ")}]))`;

const refused = (words: RegExp) => [expect.any(String), expect.stringMatching(words)];
const cell = (...lines: string[]) => `\`\`\`python\n${lines.join("\n")}\n\`\`\``;
/** Code that a root model answers with; its requests have a system prompt, and those of `llm_query` have none. */
const isAgent = ({ system }: SeenRequest) => system !== undefined;

export const otherModelsRefused = withModels(
  () => "answer",
  async ({ session, server }) => {
    const others = ["anthropic/claude-opus-5-5", "claude-haiku-4-5-x", "openai/gpt-5", `${allowedModel}\\n`, ""];
    const calls = others.map((model) => `llm_query("hello", model="${model}")`);
    const batch = `[str(one) for one in llm_query_batched(["hello"], model="anthropic/claude-opus-5-5")]`;
    const answers = await printed<unknown[]>(
      session,
      attempting(`llm_query("hello", model="${allowedModel}")`, ...calls, batch),
    );
    expect(answers[0]).toBe("answer");
    for (const answer of answers.slice(1, -1)) expect(answer).toEqual(refused(/is not allowed/));
    expect(JSON.stringify(answers.at(-1))).toMatch(/is not allowed/);
    expect(server.requests).toHaveLength(1);
  },
);

export const modelCallsCounted = withModels(
  (request) => (isAgent(request) ? cell("print(1)") : "answer"),
  async ({ session, server }) => {
    const one = `llm_query("hello", max_tokens=10)`;
    const many = `len(llm_query_batched(["hello"] * 30, max_tokens=10))`;
    const threads = `[pool.submit(llm_query, "hello", max_tokens=10) for _ in range(30)]`;
    // a batch that does not fit is refused as a whole
    expect(await printed(session, attempting(many))).toEqual([refused(/budget|calls/)]);
    expect(server.requests).toHaveLength(0);
    const answers = await printed<unknown[]>(session, attempting(one, one, one));
    expect(answers).toEqual(["answer", "answer", "answer"]);
    await printed(
      session,
      `
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(16) as pool: futures = ${threads}
print(json.dumps(sum(future.exception() is None for future in futures)))`,
    );
    expect(server.requests).toHaveLength(20);
    // neither another run of the session nor a sub-agent starts again at zero
    const later = await printed(session, attempting(one, `rlm_query("task -> answer", task="x")`));
    expect(later).toEqual([refused(/budget|calls/), refused(/calls/)]);
    expect(server.requests).toHaveLength(20);
  },
);

export const tokensReserved = withModels(
  ({ messages }) => ({ text: "a", usage: { inputTokens: messages[0]?.text.length ?? 0, outputTokens: 1 } }),
  async ({ session, server, access, another }) => {
    // 7,000 tokens each, of 30,000
    const batch = `[getattr(one, "ok", True) for one in llm_query_batched(["x" * 7000] * 8, max_tokens=10)]`;
    const [answers] = await printed<[boolean[]]>(session, attempting(batch));
    expect(answers.filter((isOk) => isOk)).toHaveLength(4);
    expect(server.requests).toHaveLength(4);
    const { spent, caps } = access.budget.snapshot();
    expect(spent.tokens).toBeGreaterThan(28_000);
    expect(spent.tokens).toBeLessThanOrEqual(caps.tokens ?? 0);
    // a new session does not start again at zero
    const again = attempting(`llm_query("x" * 7000, max_tokens=10)`);
    expect(await printed(await another(), again)).toEqual([refused(/tokens/)]);
    expect(server.requests).toHaveLength(4);
  },
);

export const moneyReserved = withModels(
  () => ({ text: "a", usage: { outputTokens: 8000 } }),
  async ({ session, server, access, another }) => {
    // 4 cents each, of 10 cents
    const batch = `[getattr(one, "ok", True) for one in llm_query_batched(["hello"] * 8)]`;
    const [answers] = await printed<[boolean[]]>(session, attempting(batch));
    expect(answers.filter((isOk) => isOk)).toHaveLength(2);
    expect(server.requests).toHaveLength(2);
    const { spent, caps } = access.budget.snapshot();
    expect(spent.usd).toBeGreaterThan(0.08);
    expect(spent.usd).toBeLessThanOrEqual(caps.usd ?? 0);
    expect(await printed(await another(), attempting(`llm_query("hello")`))).toEqual([refused(/usd|money|\$/)]);
    expect(server.requests).toHaveLength(2);
  },
);

/** Without a limit of money, a model without a price can be called, and calls are still counted. */
export const moneyUnlimited = withModels(
  () => "answer",
  async ({ session, server }) => {
    const one = `llm_query("hello", model="anthropic/claude-without-price", max_tokens=10)`;
    const answers = await printed<unknown[]>(session, attempting(...Array.from({ length: 42 }, () => one)));
    expect(answers.slice(0, 40)).toEqual(Array.from({ length: 40 }, () => "answer"));
    expect(answers.slice(40)).toEqual([refused(/budget|calls/), refused(/budget|calls/)]);
    expect(server.requests).toHaveLength(40);
  },
);

/** At the limit, a model is asked once: it does not get to write code. */
export const depthLimited = withModels(
  (request) =>
    isAgent(request)
      ? cell(`inner = rlm_query("text -> summary", text="inner")`, `SUBMIT(answer=inner["summary"])`)
      : `{"summary": "asked once"}`,
  async ({ session, server }) => {
    const call = `rlm_query("text -> answer", text="outer")`;
    expect(await printed(session, attempting(call))).toEqual([{ answer: "asked once" }]);
    expect(server.requests.map(isAgent)).toEqual([true, false]);
  },
);

export const callsWait = withModels(
  () => ({ text: "answer", delayMs: 100 }),
  async ({ session, server, another }) => {
    const other = await another();
    const batch = attempting(`len(llm_query_batched([str(at) for at in range(6)], max_tokens=10))`);
    expect(await Promise.all([printed(session, batch), printed(other, batch)])).toEqual([[6], [6]]);
    expect(server.requests).toHaveLength(12);
    expect(server.peakInFlight).toBe(2);
  },
);

export const promptsMeasured = withModels(
  () => "answer",
  async ({ session, server }) => {
    const answers = await printed(
      session,
      attempting(
        `llm_query("x" * 20001, max_tokens=10)`,
        `len(llm_query_batched(["x", "x" * 20001], max_tokens=10))`,
        `llm_query("x" * 20000, max_tokens=10)`,
      ),
    );
    expect(answers).toEqual([refused(/20001 characters/), refused(/20001 characters/), "answer"]);
    expect(server.requests).toHaveLength(1);
  },
);

/** A server that never answers: the host leaves, and does not ask again. */
export const requestsCancelled = withModels(
  () => ({ fault: "hang" }),
  async ({ session, server }) => {
    const before = performance.now();
    const answers = await printed(session, attempting(`llm_query("hello", max_tokens=10)`));
    expect(answers).toEqual([refused(/did not answer within 1500 ms/)]);
    expect(performance.now() - before).toBeLessThan(10_000); // the server would hang for ever
    await server.left(0);
    expect(server.requests).toHaveLength(1);
  },
);

/** An agent that never comes to an end: started by code, and started by a client that asks for more time. */
export const treeCancelled = withModels(
  () => ({ text: cell("seen = 1"), delayMs: 700 }),
  async ({ session, server, access, another }) => {
    const before = performance.now();
    const call = `rlm_query("task -> answer", task="x")`;
    expect(await printed(session, attempting(call))).toEqual([refused(/took longer than 4000 ms|time limit/)]);
    const tookMs = performance.now() - before;
    expect(tookMs).toBeGreaterThan(3900);
    expect(tookMs).toBeLessThan(10_000);
    await expect.poll(() => server.inFlight).toBe(0);
    const asked = server.requests.length;
    expect(asked).toBeLessThanOrEqual(6);

    await using agents = new SubAgents({ access: async () => access, newSession: another });
    const request = { signature: "task -> answer", inputs: { task: { value: "x" } } };
    const id = await agents.start(session, { ...request, limits: { maxWallMs: 3_600_000 } });
    const { result } = await agents.wait(id, { waitMs: 20_000, signal: AbortSignal.timeout(20_000) });
    expect(result).toMatchObject({ finish: "limit:time", outputs: null });
    await expect.poll(() => server.inFlight).toBe(0);
    expect(server.requests.length - asked).toBeLessThanOrEqual(6);
  },
);
