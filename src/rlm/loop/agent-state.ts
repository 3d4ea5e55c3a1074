import type { CheckedOutputs } from "../signature/check-outputs.ts";
import type { ValueError } from "../signature/check-value.ts";
import type { Signature } from "../signature/signature.ts";
import type { AgentBudget } from "./agent-budget.ts";
import type { RlmLimits } from "./limits.ts";
import type { Tree } from "./tree.ts";

/** One agent: what it is asked, what it may spend, and how far it is. */
export class AgentState {
  readonly id: string;
  readonly depth: number;
  readonly signature: Signature;
  readonly limits: RlmLimits;
  readonly budget: AgentBudget;
  readonly tree: Tree;
  turn = 0;
  /** the outputs that were accepted; the first ones count */
  outputs: Readonly<Record<string, unknown>> | undefined;
  /** SUBMITs that were refused */
  refusals = 0;
  /** of the last refused SUBMIT in this turn */
  refused: readonly ValueError[] | undefined;
  /** sub-calls of this turn, and how many of them failed */
  subCalls = { total: 0, failed: 0 };
  readonly #calls = new Set<Promise<unknown>>();
  #children = 0;

  constructor(parts: Pick<AgentState, "id" | "depth" | "signature" | "limits" | "budget" | "tree">) {
    this.id = parts.id;
    this.depth = parts.depth;
    this.signature = parts.signature;
    this.limits = parts.limits;
    this.budget = parts.budget;
    this.tree = parts.tree;
  }

  /** Whether its code may start sub-agents. */
  get canRecurse(): boolean {
    return this.depth < this.limits.maxDepth;
  }

  startTurn(): void {
    this.turn++;
    this.refused = undefined;
    this.subCalls = { total: 0, failed: 0 };
  }

  nextChildId(): string {
    return `${this.id}.${++this.#children}`;
  }

  /** Remembers a call of its code until it has ended. */
  track<T>(call: Promise<T>): Promise<T> {
    const ended = call.then(
      () => void this.#calls.delete(ended),
      () => void this.#calls.delete(ended),
    );
    this.#calls.add(ended);
    return call;
  }

  /** Resolves when no call of its code is under way. The end of a run aborts them, so they end soon. */
  async settled(): Promise<void> {
    await Promise.all(this.#calls);
  }

  /** Takes what code submitted. */
  submit(checked: CheckedOutputs): void {
    const { id: run, turn } = this;
    if (checked.ok) {
      if (this.outputs === undefined) this.tree.record({ type: "submit", run, turn, valid: true });
      this.outputs ??= checked.outputs;
      return;
    }
    this.refusals++;
    this.refused = checked.errors;
    this.tree.record({ type: "submit", run, turn, valid: false, errors: [...checked.errors] });
  }
}
