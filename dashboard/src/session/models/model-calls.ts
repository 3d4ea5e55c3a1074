/** One call of the host to a model. Prompts and answers are not in it. */
export interface ModelCall {
  readonly at: string;
  /** the run or sub-agent that made it: `<parent>.<n>` */
  readonly by: string;
  readonly purpose: string;
  readonly model: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: number | null;
  readonly duration_ms: number;
  readonly status: string;
  readonly source: string | null;
}

export interface TrajectorySummary {
  readonly id: string;
  readonly started_at: string;
  readonly title: string;
  readonly status: string;
  readonly calls: number;
  readonly cost_usd: number | null;
  readonly parent: string | null;
}

/** `GET …/models` */
export interface SessionModels {
  readonly spend: {
    readonly calls: number;
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cost_usd: number;
    readonly budget_usd: number | null;
    readonly max_calls: number | null;
  };
  readonly calls: readonly ModelCall[];
  readonly trajectories: readonly TrajectorySummary[];
}

/** Who made calls: a run or a sub-agent, and those that it started. */
export interface CallerNode {
  readonly by: string;
  readonly calls: readonly ModelCall[];
  readonly below: readonly CallerNode[];
  /** of everything below it, too */
  readonly total: { readonly calls: number; readonly tokens: number; readonly cost_usd: number };
}

/** The attack: a name with so many dots that a recursive reader overflows the stack. */
const maxDepth = 16;

/** Pure: calls as a tree of who made them. */
export function callTree(calls: readonly ModelCall[]): CallerNode[] {
  const byCaller = new Map<string, ModelCall[]>();
  for (const call of calls) byCaller.set(call.by, [...(byCaller.get(call.by) ?? []), call]);
  const below = new Map<string | undefined, string[]>();
  for (const by of byCaller.keys()) {
    const parent = parentOf(by, byCaller);
    below.set(parent, [...(below.get(parent) ?? []), by]);
  }
  const nodeOf = (by: string): CallerNode => {
    const own = byCaller.get(by) ?? [];
    const children = (below.get(by) ?? []).map(nodeOf);
    return { by, calls: own, below: children, total: totalOf(own, children) };
  };
  return (below.get(undefined) ?? []).map(nodeOf);
}

/** The nearest caller that its name begins with; none if it would be too deep. */
function parentOf(by: string, callers: ReadonlyMap<string, unknown>): string | undefined {
  const parts = by.split(".");
  if (parts.length > maxDepth) return undefined;
  for (let length = parts.length - 1; length > 0; length--) {
    const name = parts.slice(0, length).join(".");
    if (callers.has(name)) return name;
  }
  return undefined;
}

function totalOf(calls: readonly ModelCall[], below: readonly CallerNode[]): CallerNode["total"] {
  const own = calls.map((call) => ({
    calls: 1,
    tokens: call.input_tokens + call.output_tokens,
    cost_usd: call.cost_usd ?? 0,
  }));
  return [...own, ...below.map(({ total }) => total)].reduce(
    (sum, one) => ({
      calls: sum.calls + one.calls,
      tokens: sum.tokens + one.tokens,
      cost_usd: sum.cost_usd + one.cost_usd,
    }),
    { calls: 0, tokens: 0, cost_usd: 0 },
  );
}
