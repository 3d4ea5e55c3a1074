/** A call of a model, with the beginning of what was asked and answered. */
export interface AgentCall {
  readonly purpose: string;
  readonly model: string;
  readonly prompt: string;
  readonly text: string;
  readonly status: string;
  readonly cost_usd: number | null;
  readonly duration_ms: number;
}

/** One turn of an agent: the code that its model wrote, what it printed, and the sub-agents that it started. */
export interface Turn {
  readonly turn: number;
  readonly of: number;
  readonly code: string | null;
  readonly output: string | null;
  readonly status: string | null;
  readonly duration_ms: number;
  /** of the agent's own model */
  readonly replies: readonly AgentCall[];
  /** by its code */
  readonly calls: readonly AgentCall[];
  readonly agents: readonly Agent[];
}

export interface Agent {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly model: string;
  readonly turns: readonly Turn[];
  /** what it handed back; null: nothing, or too long to be recorded */
  readonly outputs: unknown;
  readonly message: string | null;
  readonly inputs: readonly {
    readonly name: string;
    readonly type: string;
    readonly chars: number;
    readonly preview: string;
  }[];
}

/** `GET …/trajectories/{id}`. The wire type says nothing about agents inside of agents, so the page has its own. */
export interface TrajectoryDetail {
  readonly agent: Agent;
  readonly truncated: boolean;
}
