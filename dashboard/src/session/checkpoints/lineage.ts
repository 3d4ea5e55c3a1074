import type { WireLineage } from "../../../../src/service/wire/sessions/lineage.ts";

export type Lineage = WireLineage;
export type LineageNode = WireLineage["nodes"][number];

/** One step of a line, and the lines that left it for another way. */
export interface Step {
  readonly node: LineageNode;
  readonly branches: readonly Line[];
}
/** Steps that follow each other. A straight history is one line, however long it is. */
export type Line = readonly Step[];

/**
 * Pure: the tree as lines. From each node the way to the present state goes on in the same line, otherwise the newest way; all others
 * are branches. Nodes whose parent is missing start a line of their own.
 */
export function linesOf({ nodes, current }: Lineage): readonly Line[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const children = new Map<string, LineageNode[]>();
  const roots: LineageNode[] = [];
  for (const node of nodes) {
    const parent = node.parent === null ? undefined : byId.get(node.parent);
    if (!parent || parent === node) roots.push(node);
    else children.set(parent.id, [...(children.get(parent.id) ?? []), node]);
  }
  const onWay = wayTo(current.node, byId);
  const lineFrom = (first: LineageNode): Line => {
    const line: Step[] = [];
    for (let node: LineageNode | undefined = first; node; ) {
      const next: readonly LineageNode[] = children.get(node.id) ?? [];
      const main: LineageNode | undefined = next.find(({ id }) => onWay.has(id)) ?? newestWay(next);
      line.push({ node, branches: next.filter((child) => child !== main).map(lineFrom) });
      node = main;
    }
    return line;
  };
  return roots.map(lineFrom);
}

/** A fork lives elsewhere, so it is the end of its line. */
function newestWay(nodes: readonly LineageNode[]): LineageNode | undefined {
  return nodes.findLast(({ kind }) => kind !== "fork");
}

function wayTo(id: string, byId: ReadonlyMap<string, LineageNode>): ReadonlySet<string> {
  const way = new Set<string>();
  for (let at = byId.get(id); at && !way.has(at.id); at = at.parent === null ? undefined : byId.get(at.parent)) {
    way.add(at.id);
  }
  return way;
}
