import { z } from "zod";

/** How many points of its past a session keeps. */
const maxNodes = 200;

const count = z.int().min(0);

const nodeSchema = z.object({
  id: z.string(),
  /** the node whose state this one descends from; absent: the first one */
  parent: z.string().optional(),
  kind: z.enum(["start", "checkpoint", "rollback", "reset", "fork", "restored"]),
  /** of the checkpoint; absent: this kind has none, or an undo, which returns to no name */
  name: z.string().optional(),
  /** the session's last run before it; of the start of a fork: the run of the parent */
  run: count,
  atMs: count,
  /** a fork: the id of the new session; the start of a fork: that of the parent */
  session: z.string().optional(),
});

export const lineageSchema = z.object({
  nodes: z.array(nodeSchema).min(1).max(maxNodes),
  /** the node that the variables descend from */
  current: z.string(),
  /** number of the next node */
  next: count,
  /** how many nodes are no longer kept */
  dropped: count,
});

/** One point in the past of a session. */
export type LineageNode = Readonly<z.output<typeof nodeSchema>>;
/** The past of a session, as its record keeps it. */
export type LineageRecord = Readonly<z.output<typeof lineageSchema>>;

/** What a session that starts now is: a fresh interpreter, or a fork of another session after one of its runs. */
export function startedLineage(
  atMs: number,
  parent?: { readonly session: string; readonly run: number },
): LineageRecord {
  const start: LineageNode = { id: "n1", kind: "start", run: 0, atMs, ...parent };
  return { nodes: [start], current: start.id, next: 2, dropped: 0 };
}

/** Something happened to the variables. `parent`: the node whose state they descend from; default: the present one. */
export type LineageStep = Omit<LineageNode, "id" | "parent"> & { readonly parent?: string | undefined };

/** Pure: the past with one more node. Everything but a fork becomes the present: a fork goes on in another session. */
export function withStep(lineage: LineageRecord, { parent = lineage.current, ...step }: LineageStep): LineageRecord {
  const id = `n${lineage.next}`;
  const isKept = lineage.nodes.some((node) => node.id === parent);
  const node: LineageNode = { ...step, id, parent: isKept ? parent : rootOf(lineage).id };
  const current = step.kind === "fork" ? lineage.current : id;
  return trimmed({ ...lineage, nodes: [...lineage.nodes, node], current, next: lineage.next + 1 });
}

/** The first node: the start, where a reset returns to. */
export function rootOf({ nodes }: LineageRecord): LineageNode {
  return nodes[0] as LineageNode; // the schema and `startedLineage` give it one, and it is never dropped
}

/** The latest checkpoint with this name. */
export function checkpointNode({ nodes }: LineageRecord, name: string): LineageNode | undefined {
  return nodes.findLast((node) => node.kind === "checkpoint" && node.name === name);
}

/** The node that the variables descended from after a run: the nearest one before the present that is not later than it. */
export function nodeAfterRun(lineage: LineageRecord, run: number): LineageNode {
  const byId = new Map(lineage.nodes.map((node) => [node.id, node]));
  let node = byId.get(lineage.current);
  while (node?.parent !== undefined && node.run > run) node = byId.get(node.parent);
  return node ?? rootOf(lineage);
}

/** Drops the oldest node but the first and the present one. What descends from it then descends from its parent. */
function trimmed(lineage: LineageRecord): LineageRecord {
  const { nodes, current, dropped } = lineage;
  if (nodes.length <= maxNodes) return lineage;
  const gone = nodes.find((node, index) => index > 0 && node.id !== current);
  const left = nodes
    .filter((node) => node !== gone)
    .map((node) => (gone && node.parent === gone.id ? { ...node, parent: gone.parent } : node));
  return { ...lineage, nodes: left, dropped: dropped + 1 };
}
