import { randomBytes } from "node:crypto";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import type { Budget } from "../../llm/budget/budget.ts";
import type { Prices } from "../../llm/money/prices.ts";
import { checkInputs } from "../signature/check-outputs.ts";
import { signatureOf } from "../signature/ready-signatures.ts";
import type { Signature } from "../signature/signature.ts";
import { addCosts, type Cost } from "../trajectory/cost.ts";
import type { FinishReason, LimitKind, RlmEvent } from "../trajectory/event.ts";
import { TrajectoryWriter } from "../trajectory/writer.ts";
import { runAgent } from "./agent.ts";
import { AgentBudget } from "./agent-budget.ts";
import type { AgentResult } from "./agent-result.ts";
import { AgentState } from "./agent-state.ts";
import type { RlmCell } from "./cell.ts";
import { EventLog } from "./event-log.ts";
import { describeInputs } from "./inputs.ts";
import { limitsFrom, type RlmLimits } from "./limits.ts";
import type { RlmModels } from "./models.ts";
import { Tree, TreeStopped } from "./tree.ts";

/** An input: a variable that the cell has already, or a value that is put into it. */
export type RlmInput = { readonly var: string } | { readonly value: unknown };

export interface RlmOptions {
  /** `"question, docs: list[str] -> answer"`, the name of a ready one, or a signature */
  readonly signature: string | Signature;
  readonly inputs: Readonly<Record<string, RlmInput>>;
  /** what to do; replaces the signature's own */
  readonly instructions?: string;
  /** the model that writes code */
  readonly root: string;
  /** the model behind `llm_query`; default: the root's */
  readonly sub?: string;
  /** usually an `LmGateway` */
  readonly models: RlmModels;
  /** prices in addition to the built-in ones, as the gateway has them */
  readonly prices?: Prices;
  readonly cell: RlmCell;
  readonly limits?: Partial<RlmLimits>;
  /** a budget that several runs share; the limits of this run apply inside it */
  readonly budget?: Budget;
  /** where to record the trajectory; the file must not exist */
  readonly trajectoryPath?: string;
  readonly signal?: AbortSignal;
  /** milliseconds since 1970 */
  readonly now?: () => number;
}

/** How a run ended, and what it used. */
export interface RlmResult {
  readonly finish: FinishReason;
  /** null unless `finish` is `submitted` or `extracted` */
  readonly outputs: Readonly<Record<string, unknown>> | null;
  /** the limit that was reached, also if outputs could be extracted */
  readonly limit?: LimitKind;
  /** why there are no outputs */
  readonly message?: string;
  /** for `error`: what failed */
  readonly error?: CodecellError;
  /** turns of the root */
  readonly iterations: number;
  /** `total.usd` covers the calls that have a price; `total.unpriced` counts the others */
  readonly usage: { readonly byModel: Readonly<Record<string, Cost>>; readonly total: Cost };
  readonly calls: number;
  readonly cacheHits: number;
  readonly durationMs: number;
  readonly trajectoryPath?: string;
}

/** A run that is under way. Nobody has to read its events or wait for its result. */
export interface RlmRun {
  readonly id: string;
  readonly events: AsyncIterable<RlmEvent>;
  /** Every way to finish is a result. It rejects only if the trajectory cannot be written. */
  readonly result: Promise<RlmResult>;
  cancel(reason?: string): void;
}

/** Starts a run. A wrong signature, input or limit throws at once. */
export function runRlm(options: RlmOptions): RlmRun {
  const { instructions, now = Date.now } = options;
  const given = typeof options.signature === "string" ? signatureOf(options.signature) : options.signature;
  const signature = instructions === undefined ? given : { ...given, instructions };
  const limits = limitsFrom(options.limits);
  const values = inputValues(signature, options.inputs);
  const id = `rlm-${randomBytes(6).toString("hex")}`;
  const controller = new AbortController();
  const log = new EventLog<RlmEvent>();
  const cancel = (reason = "the caller cancelled the run") =>
    controller.abort(new TreeStopped({ kind: "cancelled", reason }));
  const result = perform();
  result.catch(() => {}); // a failure that nobody awaits is no unhandled rejection
  return { id, events: log, result, cancel };

  async function perform(): Promise<RlmResult> {
    const started = now();
    const onAbort = () => cancel(messageOf(options.signal?.reason));
    const timer = setTimeout(() => controller.abort(new TreeStopped({ kind: "time" })), limits.maxWallMs);
    if (options.signal?.aborted) onAbort();
    options.signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const writer =
        options.trajectoryPath === undefined ? undefined : await TrajectoryWriter.create(options.trajectoryPath);
      await using _writer = writer;
      const tree = new Tree({
        ...{ models: options.models, rootModel: options.root, subModel: options.sub ?? options.root },
        ...{ deadlineMs: started + limits.maxWallMs, signal: controller.signal, now },
        ...(options.prices && { prices: options.prices }),
        onEvent: (event) => {
          writer?.add(event);
          log.push(event);
        },
      });
      const budget = AgentBudget.forRoot(limits, options.budget);
      const agent = new AgentState({ id, depth: 0, signature, limits, budget, tree });
      const ended = await prepareAndRun(agent, options, values);
      await writer?.flush();
      return resultOf(ended, tree, now() - started, options.trajectoryPath);
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", onAbort);
      log.end();
    }
  }
}

function inputValues(signature: Signature, inputs: RlmOptions["inputs"]): Readonly<Record<string, unknown>> {
  const held = new Set<string>();
  const values: Record<string, unknown> = {};
  for (const [name, input] of Object.entries(inputs)) {
    if ("var" in input) held.add(name);
    else values[name] = input.value;
  }
  return checkInputs(signature, values, held);
}

async function prepareAndRun(
  agent: AgentState,
  { cell, inputs }: RlmOptions,
  values: Readonly<Record<string, unknown>>,
): Promise<AgentResult> {
  try {
    for (const [name, value] of Object.entries(values)) await cell.set(name, value);
    for (const [name, input] of Object.entries(inputs)) {
      if ("var" in input && input.var !== name) await cell.alias(input.var, name);
    }
    const described = await describeInputs(cell, agent.signature);
    return await runAgent(agent, { cell, inputs: described, parent: null, signal: agent.tree.signal });
  } catch (error) {
    const known =
      error instanceof CodecellError ? error : new CodecellError("internal", messageOf(error), { cause: error });
    return { finish: "error", message: known.message, error: known, turns: 0 };
  }
}

function resultOf(ended: AgentResult, tree: Tree, durationMs: number, trajectoryPath: string | undefined): RlmResult {
  const { finish, outputs = null, limit, message, error, turns } = ended;
  const total = addCosts(tree.costs.values());
  return {
    ...{ finish, outputs, iterations: turns, durationMs, calls: total.calls, cacheHits: total.cached },
    usage: { byModel: Object.fromEntries(tree.costs), total },
    ...(limit !== undefined && { limit }),
    ...(message !== undefined && { message }),
    ...(error !== undefined && { error }),
    ...(trajectoryPath !== undefined && { trajectoryPath }),
  };
}
