import { addCosts, type Cost, noCost } from "./cost.ts";
import type { FinishReason, RlmEvent, RlmFact, VariableInfo } from "./event.ts";

type Of<Type extends RlmFact["type"]> = Extract<RlmEvent, { type: Type }>;

/** One call of a model. */
export interface CallNode {
  readonly id: string;
  readonly request: Of<"lm_request">;
  /** undefined: no answer came before the trajectory ended */
  readonly response?: Of<"lm_response">;
  readonly startMs: number;
  readonly endMs: number;
  readonly cost: Cost;
}

/** One turn: a reply, the code in it, and what that code did. Turn 0 holds what happens before the first one. */
export interface TurnNode {
  readonly turn: number;
  readonly of: number;
  readonly startMs: number;
  readonly endMs: number;
  /** the root model's calls: one, or several with retries and the extraction */
  readonly replies: readonly CallNode[];
  readonly code?: string;
  readonly result?: Of<"exec_result">;
  /** `llm_query` and its kin */
  readonly calls: readonly CallNode[];
  /** sub-agents that the code started */
  readonly runs: readonly RunNode[];
  readonly submits: readonly Of<"submit">[];
  readonly warnings: readonly Of<"budget">[];
  /** with everything below it */
  readonly cost: Cost;
}

/** One agent. */
export interface RunNode {
  readonly id: string;
  readonly depth: number;
  readonly start: Of<"run_start">;
  readonly inputs: readonly VariableInfo[];
  readonly startMs: number;
  readonly endMs: number;
  /** undefined: the trajectory ends before the run does */
  readonly finish?: FinishReason;
  readonly finished?: Of<"finish">;
  readonly turns: readonly TurnNode[];
  /** of its own calls */
  readonly own: Cost;
  /** with its sub-agents */
  readonly cost: Cost;
}

export interface TrajectoryTree {
  readonly root: RunNode;
  readonly startMs: number;
  readonly endMs: number;
  /** events that fit nowhere: their run is unknown, or nested too deep */
  readonly ignored: number;
}

/** The attack: a file whose runs are nested until a recursive reader overflows the stack. */
const maxDepth = 32;

interface RunParts {
  readonly start: Of<"run_start">;
  readonly level: number;
  readonly turns: Map<number, TurnParts>;
  readonly calls: Map<string, { turn: TurnParts; call: Writable<CallNode> }>;
  endMs: number;
  finished?: Of<"finish">;
}
interface TurnParts {
  readonly turn: number;
  of: number;
  readonly startMs: number;
  endMs: number;
  readonly replies: Writable<CallNode>[];
  readonly calls: Writable<CallNode>[];
  readonly runs: string[];
  readonly submits: Of<"submit">[];
  readonly warnings: Of<"budget">[];
  code?: string;
  result?: Of<"exec_result">;
}
type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Pure: events in, the tree of runs out. Undefined if no run starts. */
export function trajectoryTree(events: readonly RlmEvent[]): TrajectoryTree | undefined {
  const runs = new Map<string, RunParts>();
  let rootId: string | undefined;
  let ignored = 0;
  for (const event of events) {
    const isPlaced = event.type === "run_start" ? startRun(runs, event) : place(runs.get(event.run), event);
    if (!isPlaced) ignored++;
    else if (event.type === "run_start") rootId ??= event.run;
  }
  const parts = rootId === undefined ? undefined : runs.get(rootId);
  if (!parts) return undefined;
  const root = runNode(parts, runs);
  return { root, startMs: root.startMs, endMs: root.endMs, ignored };
}

function startRun(runs: Map<string, RunParts>, start: Of<"run_start">): boolean {
  const parent = start.parent === null ? undefined : runs.get(start.parent);
  const isRoot = runs.size === 0;
  const level = (parent?.level ?? -1) + 1;
  if (runs.has(start.run) || (!isRoot && !parent) || level > maxDepth) return false;
  runs.set(start.run, { start, level, turns: new Map(), calls: new Map(), endMs: start.at });
  if (!parent) return true;
  // `sub_start` says which turn it was; a child without one belongs to the turn that is under way.
  const turns = [...parent.turns.values()];
  const announced = turns.find(({ runs: children }) => children.includes(start.run));
  if (!announced) (turns.at(-1) ?? turnOf(parent, 0, start.at)).runs.push(start.run);
  return true;
}

function place(run: RunParts | undefined, event: Exclude<RlmEvent, { type: "run_start" }>): boolean {
  if (!run) return false;
  run.endMs = Math.max(run.endMs, event.at);
  if (event.type === "finish") {
    run.finished ??= event;
    return true;
  }
  const turn = turnOf(run, event.turn, event.at);
  turn.endMs = Math.max(turn.endMs, event.at);
  switch (event.type) {
    case "turn_start":
      turn.of = event.of;
      return true;
    case "code":
      turn.code = event.code;
      return true;
    case "exec_result":
      turn.result = event;
      return true;
    case "submit":
      turn.submits.push(event);
      return true;
    case "budget":
      turn.warnings.push(event);
      return true;
    case "sub_start":
      turn.runs.push(event.child);
      return true;
    case "sub_end":
      return true;
    case "lm_request":
      return addCall(run, turn, event);
    case "lm_response":
      return endCall(run, event);
  }
}

function turnOf(run: RunParts, turn: number, at: number): TurnParts {
  const known = run.turns.get(turn);
  if (known) return known;
  const fresh = { turn, of: 0, startMs: at, endMs: at, replies: [], calls: [], runs: [], submits: [], warnings: [] };
  run.turns.set(turn, fresh);
  return fresh;
}

function addCall(run: RunParts, turn: TurnParts, request: Of<"lm_request">): boolean {
  if (run.calls.has(request.call)) return false;
  const call = { id: request.call, request, startMs: request.at, endMs: request.at, cost: noCost };
  run.calls.set(request.call, { turn, call });
  (request.purpose === "sub" ? turn.calls : turn.replies).push(call);
  return true;
}

function endCall(run: RunParts, response: Of<"lm_response">): boolean {
  const known = run.calls.get(response.call);
  if (!known || known.call.response) return false;
  known.call.response = response;
  known.call.endMs = response.at;
  known.call.cost = costOf(response);
  known.turn.endMs = Math.max(known.turn.endMs, response.at);
  return true;
}

function costOf({ status, cached, usage, usd }: Of<"lm_response">): Cost {
  if (status === "refused") return noCost;
  if (cached) return { ...noCost, cached: 1 };
  const isUnpriced = usd === null && usage !== undefined;
  return {
    ...noCost,
    ...usage,
    calls: 1,
    failed: status === "failed" ? 1 : 0,
    usd: usd ?? 0,
    unpriced: isUnpriced ? 1 : 0,
  };
}

function runNode(parts: RunParts, runs: ReadonlyMap<string, RunParts>): RunNode {
  const { start, finished } = parts;
  const turns = [...parts.turns.values()].sort((a, b) => a.turn - b.turn).map((turn) => turnNode(turn, parts, runs));
  const own = addCosts(turns.flatMap(({ replies, calls }) => [...replies, ...calls].map(({ cost }) => cost)));
  return {
    id: start.run,
    depth: start.depth,
    start,
    inputs: start.inputs,
    startMs: start.at,
    endMs: latest(parts.endMs, turns),
    turns,
    own,
    cost: addCosts(turns.map(({ cost }) => cost)),
    ...(finished && { finish: finished.finish, finished }),
  };
}

function turnNode(turn: TurnParts, run: RunParts, runs: ReadonlyMap<string, RunParts>): TurnNode {
  const { runs: ids, ...rest } = turn;
  const children = [...new Set(ids)].flatMap((id) => {
    const child = runs.get(id);
    // A run is drawn below its own parent only, so a forged `sub_start` makes no cycle.
    return child && child.start.parent === run.start.run && child.level > run.level ? [runNode(child, runs)] : [];
  });
  const cost = addCosts([...turn.replies, ...turn.calls, ...children].map((node) => node.cost));
  return { ...rest, runs: children, cost, endMs: latest(turn.endMs, children) };
}

function latest(endMs: number, nodes: readonly { readonly endMs: number }[]): number {
  return nodes.reduce((end, node) => Math.max(end, node.endMs), endMs);
}
