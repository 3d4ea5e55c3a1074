import { z } from "zod";
import { loadOnce } from "../../lib/load-once.ts";
import { defineTool } from "./tool.ts";
import { waitSeconds } from "./wait-seconds.ts";

const replying = loadOnce(() => import("../rlm/sub-agent-reply.ts"));

/** What a model may lower, by the names that it knows. */
const limitNames = {
  max_turns: "maxIters",
  max_calls: "maxLlmCalls",
  max_tokens: "maxTokens",
  max_usd: "maxUsd",
  max_seconds: "maxWallMs",
  max_depth: "maxDepth",
} as const;

export const subAgentOutput = z.strictObject({
  run_id: z.string(),
  session_id: z.string(),
  status: z.enum(["running", "finished"]),
  finish: z.string().nullable().describe("submitted, extracted, limit:…, error or cancelled; null: it is running"),
  outputs: z.record(z.string(), z.unknown()).nullable(),
  message: z.string().nullable().describe("why there are no outputs"),
  ...{ turn: z.int(), turns: z.int(), model_calls: z.int(), usd: z.number() },
  trajectory: z.string().nullable().describe("file with every turn, for `codecell rlm show`"),
});

export const rlmSubAgentTool = defineTool({
  name: "rlm_sub_agent",
  title: "Ask a sub-agent",
  description: `Hand a task to a model that writes and runs code over large variables, in a copy of the shared session. Signature: inputs -> outputs with types, such as "question, docs: list[str] -> answer: str, score: float". Its outputs are stored as _sub_agent_result.`,
  input: z.strictObject({
    signature: z.string(),
    inputs: z
      .record(z.string(), z.unknown())
      .describe('A value, or {"var": "name"} for a variable of the session, which is passed without copying.'),
    instructions: z.string().optional(),
    limits: z
      .strictObject({
        max_turns: z.int().min(1).optional(),
        max_calls: z.int().min(0).optional(),
        max_tokens: z.int().min(1).optional(),
        max_usd: z.number().positive().optional(),
        max_seconds: z.number().positive().optional(),
        max_depth: z.int().min(0).max(3).optional(),
      })
      .optional()
      .describe("Lower than the policy's."),
    wait: waitSeconds.describe("Seconds; then rlm_run waits on."),
  }),
  output: subAgentOutput,
  effect: "changes",
  async call({ signature, inputs, instructions, limits = {}, wait }, sandbox, { signal }) {
    const session = await sandbox.defaultSession();
    const { subAgents } = await sandbox.models();
    const runId = await subAgents.start(session, {
      ...{ signature, instructions, inputs: inputsOf(inputs) },
      limits: Object.fromEntries(
        Object.entries(limits).map(([name, value]) => [
          limitNames[name as keyof typeof limitNames],
          name === "max_seconds" ? Math.ceil(Number(value) * 1000) : value,
        ]),
      ),
    });
    const state = await subAgents.wait(runId, { waitMs: wait * 1000, signal });
    const { subAgentFacts, subAgentText } = await replying();
    return { facts: subAgentFacts(state), text: subAgentText(sandbox, state) };
  },
});

const reference = z.strictObject({ var: z.string() });

/** `{"var": "docs"}` names a variable; everything else is a value. */
function inputsOf(inputs: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => {
      const named = reference.safeParse(value);
      return [name, named.success ? named.data : { value }];
    }),
  );
}
