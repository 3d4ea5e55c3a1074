/** Isolation levels, weakest first. Each is named after the runner that introduced it. */
export const isolationLevels = ["wasm", "srt", "process", "container", "kata", "gvisor", "microvm"] as const;
/** A level of isolation, as `isolation.minimum` names it. */
export type IsolationLevel = (typeof isolationLevels)[number];

/** Levels that a policy may name although no runner of this version has them. Hints do not suggest them. */
export const levelsWithoutRunner: readonly string[] = ["microvm"] satisfies IsolationLevel[];

/** Runners whose cells have no processes: they have no bash, and no copies of an interpreter. */
const runnersWithoutProcesses: readonly string[] = ["wasm"] satisfies IsolationLevel[];

/** Pure: whether cells of the runner that a policy names may have processes. For `auto`, which may become any, they may. */
export function mayHaveProcesses(runner: string): boolean {
  return !runnersWithoutProcesses.includes(runner);
}

/** Negative: `a` is weaker than `b`. Zero: they are the same level. Positive: `a` is stronger. */
export function compareIsolation(a: IsolationLevel, b: IsolationLevel): number {
  return isolationLevels.indexOf(a) - isolationLevels.indexOf(b);
}
