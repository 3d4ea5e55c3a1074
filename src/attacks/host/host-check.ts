import type { RunResult } from "../../sessions/runs/run.ts";
import type { Session } from "../../sessions/session.ts";
import type { Attack } from "../attack.ts";
import type { AttackCells } from "../run/attack-cells.ts";

/** What a check of the host may use. */
export interface HostCheckContext {
  readonly attack: Attack;
  readonly cells: AttackCells;
  /** the session that the attack runs in */
  readonly session: Session;
  /** unguessable text that the attack has as `host["mine"]`, to mark what it starts or leaves */
  readonly mine: string;
}

/**
 * Starts before the attack. What it returns is called after the attack (with `process-survived`: after the session was closed)
 * with the result of its run, and says what harm it saw; undefined: none.
 */
export type StartHostCheck = (context: HostCheckContext) => Promise<FinishHostCheck>;
export type FinishHostCheck = (result: RunResult) => Promise<string | undefined>;
