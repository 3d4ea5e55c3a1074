import type { CodecellError } from "../../lib/errors.ts";
import type { FinishReason, LimitKind, VariableInfo } from "../trajectory/event.ts";
import type { AgentState } from "./agent-state.ts";
import type { RlmCell } from "./cell.ts";

/** How an agent ended. `outputs` is there for `submitted` and `extracted`. */
export interface AgentResult {
  readonly finish: FinishReason;
  readonly outputs?: Readonly<Record<string, unknown>>;
  /** the limit that led to an extraction */
  readonly limit?: LimitKind;
  /** why there are no outputs */
  readonly message?: string;
  readonly error?: CodecellError;
  readonly turns: number;
}

export interface AgentPlace {
  readonly cell: RlmCell;
  readonly inputs: readonly VariableInfo[];
  readonly parent: string | null;
  /** aborted when the call that started a sub-agent ends; for the root, the tree's */
  readonly signal: AbortSignal;
}

/** Runs one agent to its end. It never throws: every failure is a way to finish. */
export type RunAgent = (agent: AgentState, place: AgentPlace) => Promise<AgentResult>;

/** How the turns of an agent ended. */
export type Ending = Omit<AgentResult, "turns">;
