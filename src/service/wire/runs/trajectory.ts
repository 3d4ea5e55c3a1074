import { z } from "zod";
import type { TrajectorySummary } from "../../rlm/session-trajectories.ts";
import type { CallNode, Cost, RunNode, TurnNode } from "../../rlm/trajectory-files.ts";
import { encodeTime, timestamp } from "../timestamp.ts";

export const trajectorySummarySchema = z.strictObject({
  id: z.string(),
  started_at: timestamp,
  title: z.string().describe("the signature of its task"),
  status: z.string().describe("`running`, or how it ended, such as `submitted`"),
  calls: z.int().describe("model calls, with those of its sub-agents"),
  cost_usd: z.number().nullable().describe("null: of models without a price"),
  parent: z.string().nullable().describe("always null: sub-agents are inside the trajectory that started them"),
});
export type WireTrajectorySummary = z.output<typeof trajectorySummarySchema>;

const callSchema = z.strictObject({
  purpose: z.string(),
  model: z.string(),
  prompt: z.string().describe("what was new in it"),
  text: z.string().describe("the answer"),
  status: z.string().describe("`running`, `ok`, `failed` or `refused`"),
  input_tokens: z.int().nullable(),
  output_tokens: z.int().nullable(),
  cost_usd: z.number().nullable(),
  duration_ms: z.int(),
});

const agentSchema = z.looseObject({
  id: z.string(),
  title: z.string(),
  model: z.string(),
  sub_model: z.string(),
  status: z.string(),
  message: z.string().nullable().describe("why it ended without outputs"),
  outputs: z.unknown().describe("null: none, or too long to be recorded"),
  inputs: z.array(z.strictObject({ name: z.string(), type: z.string(), chars: z.int(), preview: z.string() })),
  calls: z.int(),
  cost_usd: z.number().nullable(),
  turns: z.array(
    z.looseObject({
      turn: z.int(),
      of: z.int(),
      started_at: timestamp,
      duration_ms: z.int(),
      code: z.string().nullable(),
      status: z.string().nullable(),
      output: z.string().nullable().describe("as the model saw it"),
      replies: z.array(callSchema).describe("calls of the agent's own model"),
      calls: z.array(callSchema).describe("calls by its code"),
      agents: z.array(z.unknown()).describe("sub-agents that its code started, each like `agent`"),
    }),
  ),
});

export const trajectorySchema = z.strictObject({
  ...trajectorySummarySchema.shape,
  ended_at: timestamp.nullable().describe("null: it is running, or its process was killed"),
  agent: agentSchema,
  truncated: z.boolean().describe("texts were cut, or turns left out, to limit the size of the response"),
});
export type WireTrajectory = z.output<typeof trajectorySchema>;

/** Characters of one text, and of all texts together. */
const limits = { text: 20_000, total: 2_000_000, turns: 500 };

export function encodeTrajectorySummary({ id, tree: { root } }: TrajectorySummary): WireTrajectorySummary {
  return {
    ...{ id, started_at: encodeTime(root.startMs), title: root.start.signature.slice(0, 500) },
    ...{ status: root.finish ?? "running", calls: root.cost.calls, cost_usd: usdOf(root.cost), parent: null },
  };
}

export function encodeTrajectory(summary: TrajectorySummary): WireTrajectory {
  const { root, endMs } = summary.tree;
  const room = new Room();
  const agent = encodeAgent(root, room);
  const ended_at = root.finish === undefined ? null : encodeTime(endMs);
  return { ...encodeTrajectorySummary(summary), ended_at, agent, truncated: room.isCut };
}

/** Counts down what a response may hold; everything in a trajectory comes from models and programs. */
class Room {
  isCut = false;
  #left = limits.total;
  #turns = limits.turns;

  text(text: string): string {
    const most = Math.max(0, Math.min(limits.text, this.#left));
    this.#left -= Math.min(text.length, most);
    if (text.length <= most) return text;
    this.isCut = true;
    return `${text.slice(0, most)}…`;
  }

  turns<Item>(items: readonly Item[]): readonly Item[] {
    const taken = items.slice(0, Math.max(0, this.#turns));
    this.#turns -= taken.length;
    if (taken.length < items.length) this.isCut = true;
    return taken;
  }
}

function encodeAgent(run: RunNode, room: Room): WireTrajectory["agent"] {
  const { start, finished, inputs } = run;
  return {
    ...{ id: run.id, title: room.text(start.signature), model: start.model, sub_model: start.subModel },
    status: run.finish ?? "running",
    message: finished?.message === undefined ? null : room.text(finished.message),
    outputs: finished?.outputs ?? null,
    inputs: inputs.map(({ name, type, chars, preview }) => ({ name, type, chars, preview: room.text(preview) })),
    ...{ calls: run.cost.calls, cost_usd: usdOf(run.cost) },
    turns: room.turns(run.turns).map((turn) => encodeTurn(turn, room)),
  };
}

function encodeTurn(node: TurnNode, room: Room): WireTrajectory["agent"]["turns"][number] {
  const { turn, of, startMs, endMs, code, result, replies, calls, runs } = node;
  return {
    ...{ turn, of, started_at: encodeTime(startMs), duration_ms: Math.round(endMs - startMs) },
    code: code === undefined ? null : room.text(code),
    status: result?.status ?? null,
    output: result === undefined ? null : room.text(result.output),
    replies: room.turns(replies).map((call) => encodeCall(call, room)),
    calls: room.turns(calls).map((call) => encodeCall(call, room)),
    agents: runs.map((run) => encodeAgent(run, room)),
  };
}

function encodeCall({ request, response, startMs, endMs }: CallNode, room: Room): z.output<typeof callSchema> {
  return {
    ...{ purpose: request.purpose, model: request.model },
    prompt: room.text(request.prompt),
    text: room.text(response?.text ?? ""),
    status: response?.status ?? "running",
    input_tokens: response?.usage?.inputTokens ?? null,
    output_tokens: response?.usage?.outputTokens ?? null,
    cost_usd: response?.usd ?? null,
    duration_ms: Math.round(endMs - startMs),
  };
}

function usdOf({ usd, unpriced }: Cost): number | null {
  return unpriced > 0 && usd === 0 ? null : usd;
}
