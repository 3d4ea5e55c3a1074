import { describe, expect, test } from "vitest";
import { sampleTrajectory } from "../../../test/fakes/sample-trajectory.ts";
import { tokensOf } from "./cost.ts";
import type { RlmEvent } from "./event.ts";
import { type RunNode, type TrajectoryTree, trajectoryTree } from "./tree.ts";

function treeOf(events: readonly RlmEvent[]): TrajectoryTree {
  const tree = trajectoryTree(events);
  if (!tree) throw new Error("no tree");
  return tree;
}

describe("the tree of a trajectory", () => {
  test("puts turns, calls and sub-agents where they happened", () => {
    const { root, ignored } = treeOf(sampleTrajectory());
    expect(ignored).toBe(0);
    expect(
      root.turns.map(({ turn, calls, replies, runs }) => [turn, replies.length, calls.length, runs.length]),
    ).toEqual([
      [1, 1, 0, 0],
      [2, 1, 8, 0],
      [3, 1, 0, 1],
      [4, 1, 0, 0],
    ]);
    expect(root.turns[2]?.runs[0]).toMatchObject({ id: "rlm-7f3a.1", depth: 1, finish: "submitted" });
    expect(root.turns[2]?.submits).toMatchObject([{ valid: false }]);
    expect(root.turns[1]?.warnings).toMatchObject([{ percent: 50 }]);
    expect(root.finish).toBe("submitted");
  });

  test("adds up the cost of every node, children included", () => {
    const { root } = treeOf(sampleTrajectory());
    const sub = root.turns[2]?.runs[0];
    expect(root.cost.calls).toBe(12); // 4 turns, 7 sub-calls that were sent, 1 turn of the sub-agent
    expect(root.own.calls).toBe(11);
    expect(root.cost).toMatchObject({ cached: 1, failed: 1, unpriced: 0 });
    expect(root.cost.usd).toBeCloseTo(0.0058 + 0.0031 + 0.0044 + 0.0014 + 6 * 0.00021 + 0.0033, 10);
    expect(root.cost.usd).toBeCloseTo(root.own.usd + (sub?.cost.usd ?? 0), 10);
    expect(root.turns[2]?.cost.usd).toBeCloseTo(0.0044 + 0.0033, 10);
    expect(tokensOf(sub?.cost ?? root.cost)).toBe(940);
  });

  test("spans the time of its children", () => {
    const { root } = treeOf(sampleTrajectory());
    for (const turn of root.turns) {
      for (const child of [...turn.calls, ...turn.runs]) {
        expect(child.startMs).toBeGreaterThanOrEqual(turn.startMs);
        expect(child.endMs).toBeLessThanOrEqual(turn.endMs);
      }
    }
    expect(root.endMs - root.startMs).toBe(7842);
  });

  test("exists for every beginning of a trajectory, so that a run can be watched", () => {
    const events = sampleTrajectory();
    for (let length = 1; length < events.length; length++) {
      const { root, ignored } = treeOf(events.slice(0, length));
      expect(root.finish).toBeUndefined();
      expect(ignored).toBe(0);
    }
    expect(trajectoryTree([])).toBeUndefined();
  });

  test("counts a call of a model without a price, so that the sum is not taken for all", () => {
    const events = sampleTrajectory().map((event) =>
      event.type === "lm_response" && event.call === "c1" ? { ...event, usd: null } : event,
    );
    expect(treeOf(events).root.cost.unpriced).toBe(1);
  });

  test("leaves out events of unknown runs, repeated calls and runs that are nested too deep", () => {
    const [start] = sampleTrajectory();
    if (start?.type !== "run_start") throw new Error("the sample starts with run_start");
    const nested = Array.from({ length: 10_000 }, (_, n) => ({
      ...start,
      run: `x${n}`,
      parent: n === 0 ? start.run : `x${n - 1}`,
    }));
    const { root, ignored } = treeOf([
      start,
      { ...start },
      ...nested,
      { type: "code", run: "?", turn: 1, code: "", at: 0 },
    ]);
    let depth = 0;
    for (let run: RunNode | undefined = root; run; run = run.turns[0]?.runs[0]) depth++;
    expect(depth).toBe(33);
    expect(ignored).toBe(10_000 - 32 + 2);
  });

  test("a forged sub_start makes no cycle", () => {
    const forged: RlmEvent = { type: "sub_start", run: "rlm-7f3a.1", turn: 1, child: "rlm-7f3a", signature: "", at: 0 };
    const { root } = treeOf([...sampleTrajectory(), forged, { ...forged, child: "rlm-7f3a.1" }]);
    expect(root.turns[2]?.runs[0]?.turns[0]?.runs).toEqual([]);
  });
});
