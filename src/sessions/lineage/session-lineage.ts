import type { Checkpoint } from "../interpreter/checkpoint.ts";
import type { SessionRecord } from "../storage/session-record.ts";
import {
  checkpointNode,
  type LineageNode,
  type LineageRecord,
  type LineageStep,
  nodeAfterRun,
  rootOf,
  startedLineage,
  withStep,
} from "./lineage.ts";

/** As many runs as a policy may allow to undo. */
const maxUndo = 64;

/** The past of a session as a tree: where it started, its checkpoints, and what it returned to. */
export interface Lineage {
  /** oldest first; `parent` of each is the node whose state it descends from */
  readonly nodes: readonly (LineageNode & {
    /** whether `rollback` can return to it: a checkpoint that still exists */
    readonly canRollBack: boolean;
  })[];
  /** the node that the variables descend from, and the last run since */
  readonly current: { readonly node: string; readonly run: number };
  /** whether older nodes are no longer kept */
  readonly truncated: boolean;
}

/** A session, as far as its lineage has to do with it. */
export interface SessionWithPast {
  record: SessionRecord;
}

/** Notes what happens to the variables of a session. It is in the session's record, and is saved with it. */
export class SessionLineage {
  readonly #session: SessionWithPast;
  readonly #now: () => number;
  /** by run: what the variables descended from before it */
  readonly #beforeRuns = new Map<number, string>();

  constructor(session: SessionWithPast, now: () => number) {
    this.#session = session;
    this.#now = now;
  }

  /** The past, with the checkpoints that exist now. */
  view(checkpoints: readonly Checkpoint[]): Lineage {
    const lineage = this.#lineage;
    const kept = new Set(checkpoints.map(({ name }) => checkpointNode(lineage, name)?.id));
    return {
      nodes: lineage.nodes.map((node) => ({ ...node, canRollBack: kept.has(node.id) })),
      current: { node: lineage.current, run: this.#session.record.runs },
      truncated: lineage.dropped > 0,
    };
  }

  checkpoint(name: string): void {
    this.#add({ kind: "checkpoint", name, run: this.#session.record.runs });
  }

  rolledBack(name: string): void {
    const node = checkpointNode(this.#lineage, name);
    this.#add({ kind: "rollback", name, run: node?.run ?? 0, parent: node?.id });
  }

  /** Notes what the variables descend from before a run, in case it is undone. */
  beforeRun(run: number): void {
    this.#beforeRuns.set(run, this.#lineage.current);
    const [oldest] = this.#beforeRuns.keys();
    if (this.#beforeRuns.size > maxUndo && oldest !== undefined) this.#beforeRuns.delete(oldest);
  }

  /** The variables are as they were before a run. */
  undone(run: number): void {
    this.#add({ kind: "rollback", run: run - 1, parent: this.#beforeRuns.get(run) });
  }

  reset(): void {
    this.#add({ kind: "reset", run: this.#session.record.runs, parent: rootOf(this.#lineage).id });
  }

  forked(child: string): void {
    this.#add({ kind: "fork", session: child, run: this.#session.record.runs });
  }

  /** The variables are those after an earlier run again: of a save, or of a copy after a crash. */
  restored(run: number): void {
    this.#add({ kind: "restored", run, parent: nodeAfterRun(this.#lineage, run).id });
  }

  get #lineage(): LineageRecord {
    const { lineage, createdMs } = this.#session.record;
    return lineage ?? startedLineage(createdMs);
  }

  #add(step: Omit<LineageStep, "atMs">): void {
    const lineage = withStep(this.#lineage, { ...step, atMs: this.#now() });
    this.#session.record = { ...this.#session.record, lineage };
  }
}
