import { describe, expect, test } from "vitest";
import { type LineageRecord, lineageSchema, nodeAfterRun, startedLineage, withStep } from "./lineage.ts";
import { SessionLineage } from "./session-lineage.ts";

/** A session that counts runs, and its past as `kind name run <parent`. */
function setUp(lineage?: LineageRecord) {
  const record = { version: 1 as const, id: "s", workspace: "w", createdMs: 5, usedMs: 5, runs: 0, lineage };
  const session = { record };
  let now = 10;
  const past = new SessionLineage(session, () => now++);
  const run = (count = 1) => {
    session.record = { ...session.record, runs: session.record.runs + count };
  };
  const shown = (...kept: string[]) =>
    past.view(kept.map((name) => ({ name, run: 0, atMs: 0 }))).nodes.map((node) => {
      const { id, parent = "", kind, name = "", run: last, canRollBack } = node;
      return `${id}<${parent} ${kind} ${name} ${last}${canRollBack ? " *" : ""}`;
    });
  return { session, past, run, shown };
}

describe("the lineage of a session", () => {
  test("starts with its creation, and costs nothing until something happens", () => {
    const { session, past, run } = setUp();
    run(3);
    expect(past.view([])).toEqual({
      nodes: [{ id: "n1", kind: "start", run: 0, atMs: 5, canRollBack: false }],
      current: { node: "n1", run: 3 },
      truncated: false,
    });
    expect(session.record.lineage).toBeUndefined();
  });

  test("is a tree: a rollback descends from its checkpoint, and a reset from the start", () => {
    const { past, run, shown } = setUp();
    run();
    past.checkpoint("a");
    run();
    past.checkpoint("b");
    past.rolledBack("a");
    run();
    past.forked("child");
    past.checkpoint("c");
    past.reset();
    expect(shown("a", "c")).toEqual([
      "n1< start  0",
      "n2<n1 checkpoint a 1 *",
      "n3<n2 checkpoint b 2",
      "n4<n2 rollback a 1",
      "n5<n4 fork  3",
      "n6<n4 checkpoint c 3 *",
      "n7<n1 reset  3",
    ]);
    expect(past.view([]).current).toEqual({ node: "n7", run: 3 });
    expect(past.view([]).nodes[4]?.session).toBe("child");
  });

  test("of two checkpoints with one name, only the later one can be returned to", () => {
    const { past, shown } = setUp();
    past.checkpoint("a");
    past.checkpoint("a");
    expect(shown("a")).toEqual(["n1< start  0", "n2<n1 checkpoint a 0", "n3<n2 checkpoint a 0 *"]);
    past.rolledBack("a");
    expect(shown()[3]).toBe("n4<n3 rollback a 0");
  });

  test("an undo descends from what the variables descended from before the run", () => {
    const { past, run, shown } = setUp();
    run();
    past.checkpoint("a");
    past.beforeRun(2);
    run();
    past.checkpoint("b");
    past.undone(2);
    expect(shown()[3]).toBe("n4<n2 rollback  1");
  });

  test("what a save or a crash brings back descends from the nearest node that is not later", () => {
    const { past, run, shown } = setUp();
    run();
    past.checkpoint("a");
    run(2);
    past.checkpoint("b");
    run();
    past.restored(2);
    expect(shown()[3]).toBe("n4<n2 restored  2");
    past.restored(0);
    expect(shown()[4]).toBe("n5<n1 restored  0");
  });

  test("a fork names the session and the run that it comes from", () => {
    const { past } = setUp(startedLineage(7, { session: "parent", run: 4 }));
    expect(past.view([]).nodes).toEqual([
      { id: "n1", kind: "start", run: 4, atMs: 7, session: "parent", canRollBack: false },
    ]);
  });

  test("keeps 200 nodes: the first, the present one and the latest, and the tree stays one tree", () => {
    const { session, past, run } = setUp();
    for (let index = 0; index < 300; index++) {
      run();
      past.checkpoint(`c${index}`);
      if (index % 3 === 2) past.rolledBack(`c${index - 1}`);
    }
    const { nodes, current, truncated } = past.view([]);
    expect([nodes.length, truncated, nodes[0]?.kind]).toEqual([200, true, "start"]);
    const ids = new Set(nodes.map(({ id }) => id));
    expect(ids.size).toBe(200);
    expect(ids.has(current.node)).toBe(true);
    const orphans = nodes.slice(1).filter(({ parent }) => parent === undefined || !ids.has(parent));
    expect(orphans).toEqual([]);
    expect(lineageSchema.parse(JSON.parse(JSON.stringify(session.record.lineage)))).toEqual(session.record.lineage);
  });

  test("a parent that is no longer kept is replaced by the start", () => {
    const lineage = withStep(startedLineage(0), { kind: "rollback", run: 3, atMs: 1, parent: "n99" });
    expect(lineage.nodes[1]?.parent).toBe("n1");
    expect(nodeAfterRun({ ...lineage, current: "n99" }, 5).id).toBe("n1");
  });
});
