import { CodecellError } from "../../lib/errors.ts";
import type { LmMessage, LmRequest, LmResponse } from "../../llm/client.ts";
import { priceOf, worstCase } from "../../llm/money/prices.ts";
import { codeInReply } from "../prompt/code-in-reply.ts";
import { cutOffText, ignoredText, lastTurnText, noCodeText, variablesText } from "../prompt/messages.ts";
import { shownText } from "../prompt/shown-text.ts";
import { systemPrompt } from "../prompt/system-prompt.ts";
import type { LimitKind } from "../trajectory/event.ts";
import { turnLine, warningText } from "./agent-budget.ts";
import type { AgentPlace, Ending } from "./agent-result.ts";
import type { AgentState } from "./agent-state.ts";
import type { CellRun } from "./cell.ts";
import { extractOutputs } from "./extract.ts";
import { outcomeTexts } from "./outcome-text.ts";
import { recorded } from "./tree.ts";

/** Most text is ASCII; a byte is counted as a token. */
const outputBytes = 1.5;
/** for everything else in the message of a turn */
const turnBytes = 1000;
/** After a SUBMIT that was accepted, for code that keeps running in another thread. */
const submitGraceMs = 2000;

/** The turns of one agent. Messages are only ever appended, so that providers can cache what came before. */
export class AgentLoop {
  readonly #agent: AgentState;
  readonly #place: AgentPlace;
  readonly #system: string;
  readonly #messages: LmMessage[] = [];
  #feedback: string[];
  #errorsInRow = 0;
  #hasSucceeded = false;
  /** the cap that allows no turn after the next one */
  #exhausted: LimitKind | undefined;

  constructor(agent: AgentState, place: AgentPlace) {
    const { signature, limits, canRecurse } = agent;
    const { maxLlmCalls: maxSubCalls, maxPromptChars, maxOutputChars } = limits;
    this.#agent = agent;
    this.#place = place;
    this.#system = systemPrompt({ signature, maxSubCalls, maxPromptChars, maxOutputChars, canRecurse });
    this.#feedback = [variablesText(place.inputs)];
  }

  async run(): Promise<Ending> {
    const agent = this.#agent;
    for (;;) {
      this.#throwIfStopped();
      agent.startTurn();
      agent.tree.record({ type: "turn_start", run: agent.id, turn: agent.turn, of: agent.limits.maxIters });
      const { reply, limit } = await this.#askWithin();
      if (!reply) return await this.#end(limit ?? "turns");
      await this.#act(reply);
      if (agent.outputs !== undefined) return { finish: "submitted", outputs: agent.outputs };
      const reached = limit ?? this.#limitReached();
      if (reached !== undefined) return await this.#end(reached);
    }
  }

  /** The reply of this turn. When the budget allows no further turn, this one becomes the last, from what is kept for it. */
  async #askWithin(): Promise<{ reply?: LmResponse; limit?: LimitKind }> {
    const { turn, limits } = this.#agent;
    if (turn === limits.maxIters || this.#exhausted !== undefined) {
      const { reply, exhausted } = await this.#ask(true);
      return { ...(reply && { reply }), limit: exhausted ?? this.#exhausted ?? "turns" };
    }
    const { reply, exhausted } = await this.#ask(false);
    if (reply || exhausted === undefined) return { ...(reply && { reply }) };
    const last = await this.#ask(true);
    return { ...(last.reply && { reply: last.reply }), limit: exhausted };
  }

  async #ask(isLast: boolean): Promise<{ reply?: LmResponse; exhausted?: LimitKind }> {
    const { tree, limits, budget, id: run, turn } = this.#agent;
    const line = turnLine(turn, limits.maxIters, this.#mayTellBudget ? budget.left : undefined);
    const text = [...this.#feedback, ...(isLast ? [lastTurnText] : []), line].join("\n\n");
    const request = this.#request(text);
    try {
      budget.takeTurn(isLast);
      const { signal } = this.#place;
      const place = { run, turn, purpose: "root", budget: budget.amounts, isFinal: isLast, signal } as const;
      const reply = await tree.ask(request, place);
      if (reply.stop === "refusal") throw new CodecellError("model_failed", "the root model refused to go on");
      this.#messages.push({ role: "user", text }, { role: "assistant", text: reply.text || "(no reply)" });
      return { reply };
    } catch (error) {
      const kind = exhaustedKind(error);
      if (kind === undefined) throw error;
      return { exhausted: kind };
    }
  }

  #request(text: string): LmRequest {
    const { tree, limits } = this.#agent;
    return {
      ...{ model: tree.options.rootModel, system: this.#system, maxTokens: limits.maxReplyTokens, cachePrefix: true },
      messages: [...this.#messages, { role: "user", text }],
    };
  }

  /** Runs the code of a reply, and prepares what the model sees next. */
  async #act(reply: LmResponse): Promise<void> {
    const { id: run, turn, tree } = this.#agent;
    const found = codeInReply(reply.text);
    if (reply.stop === "max_tokens" || found.kind !== "code") {
      const text = reply.stop === "max_tokens" || found.kind === "code" ? cutOffText : noCodeText(found);
      const status = reply.stop === "max_tokens" ? "cut_off" : "no_code";
      tree.record({ type: "exec_result", run, turn, status, output: text, outputChars: text.length, ms: 0 });
      this.#errorsInRow++;
      this.#feedback = [text, ...this.#warnings()];
      return;
    }
    tree.record({ type: "code", run, turn, code: recorded(found.code) });
    const result = await this.#execute(found.code);
    const notes = found.ignored > 0 ? [ignoredText(found.ignored)] : [];
    this.#feedback = [...this.#outcome(result), ...notes, ...this.#warnings()];
  }

  async #execute(code: string): Promise<CellRun> {
    const { id: run, turn, tree, limits } = this.#agent;
    const started = tree.options.now();
    this.#keepLastTurn();
    const result = await this.#runUntilSubmitted(code);
    const shown = shownText(result.output, limits.maxOutputChars, result.outputChars);
    const ms = tree.options.now() - started;
    tree.record({
      type: "exec_result",
      run,
      turn,
      status: result.status,
      output: shown.text,
      outputChars: shown.chars,
      ms,
    });
    if (this.#agent.outputs !== undefined) return result;
    this.#throwIfStopped();
    if (result.state === "lost") {
      const why = result.status === "cancelled" ? "the session was closed" : "the code crashed its session";
      throw new CodecellError("cell_lost", `${why}, and the variables are lost`);
    }
    return result;
  }

  /** Sub-calls must leave enough for a last turn. If there is not enough already, the next turn is the last. */
  #keepLastTurn(): void {
    const { tree, limits, budget } = this.#agent;
    const request = this.#request("x".repeat(Math.ceil(limits.maxOutputChars * outputBytes) + turnBytes));
    this.#exhausted = budget.keepLastTurn(worstCase(request, priceOf(request.model, tree.options.prices)));
  }

  /** The main thread ends with SUBMIT. Code that submits in another thread must not keep the agent waiting. */
  async #runUntilSubmitted(code: string): Promise<CellRun> {
    const controller = new AbortController();
    const { signal } = this.#place;
    const forward = () => controller.abort(signal.reason);
    if (signal.aborted) forward();
    signal.addEventListener("abort", forward, { once: true });
    const timer = setInterval(() => {
      if (this.#agent.outputs !== undefined) controller.abort(new Error("the outputs were submitted"));
    }, submitGraceMs);
    try {
      const { execTimeoutMs } = this.#agent.limits;
      return await this.#place.cell.run(code, { timeoutMs: execTimeoutMs, signal: controller.signal });
    } finally {
      clearInterval(timer);
      signal.removeEventListener("abort", forward);
    }
  }

  #outcome(result: CellRun): string[] {
    const { refused } = this.#agent;
    const isOk = result.status === "ok";
    this.#hasSucceeded ||= isOk;
    this.#errorsInRow = isOk && !refused ? 0 : this.#errorsInRow + 1;
    return outcomeTexts(this.#agent, result);
  }

  #warnings(): string[] {
    const { budget, tree, id: run, turn } = this.#agent;
    const texts = budget.newWarnings().map((warning) => {
      tree.record({ type: "budget", run, turn, ...warning, left: { ...budget.left } });
      return warningText(warning);
    });
    return this.#mayTellBudget ? texts : [];
  }

  /**
   * What is left for a sub-agent depends on how fast others work at the same time. In its messages, that would make every replay
   * differ from the recording. Its code can call budget().
   */
  get #mayTellBudget(): boolean {
    return this.#agent.depth === 0;
  }

  #limitReached(): LimitKind | undefined {
    const { refusals, limits } = this.#agent;
    if (refusals > limits.submitRetries) return "submits";
    return this.#errorsInRow >= limits.maxConsecutiveErrors ? "errors" : undefined;
  }

  /** A limit is reached. Without any code that ran, a model could only invent an answer. */
  async #end(limit: LimitKind): Promise<Ending> {
    const reason = `the limit of ${limitNames[limit]} is reached`;
    if (this.#messages.length === 0)
      return { finish: `limit:${limit}`, limit, message: `${reason} before the first reply` };
    if (!this.#hasSucceeded) {
      return { finish: `limit:${limit}`, limit, message: `${reason}, and no code ever ran without an error` };
    }
    const messages = [...this.#messages, { role: "user", text: this.#feedback.join("\n\n") } as const];
    const extracted = await extractOutputs(this.#agent, this.#system, messages, this.#place.signal);
    if (extracted.outputs) return { finish: "extracted", limit, outputs: extracted.outputs };
    return {
      finish: `limit:${limit}`,
      limit,
      message: `${reason}, and no outputs could be extracted: ${extracted.message}`,
    };
  }

  #throwIfStopped(): void {
    this.#agent.tree.signal.throwIfAborted();
    this.#place.signal.throwIfAborted();
  }
}

const limitNames: Readonly<Record<LimitKind, string>> = {
  turns: "turns",
  errors: "errors in a row",
  submits: "refused SUBMITs",
  calls: "model calls",
  tokens: "tokens",
  usd: "money",
  time: "time",
};

function exhaustedKind(error: unknown): LimitKind | undefined {
  if (!(error instanceof CodecellError) || error.code !== "budget_exhausted") return undefined;
  const { kind } = error.details;
  return kind === "calls" || kind === "usd" ? kind : "tokens";
}
