import type { AuditEvent } from "../../audit/event.ts";
import { namespaceOf } from "../events/event-view.ts";

export type ModelCallEvent = Extract<AuditEvent, { type: "model.call" }>;

export interface LoggedCall {
  readonly atMs: number;
  readonly event: ModelCallEvent;
}

/** What a session spent on models since the service started. */
export interface ModelSpend {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

interface SessionCalls {
  readonly calls: LoggedCall[];
  spend: ModelSpend;
}

const noSpend: ModelSpend = { calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 };
const maxCalls = 1_000;
const maxSessions = 2_000;

/** The last model calls of each session, from its audit events. */
export class ModelLog {
  readonly #limits: { readonly calls: number; readonly sessions: number };
  /** the session that was used last comes last */
  readonly #sessions = new Map<string, SessionCalls>();

  constructor(limits: { calls?: number; sessions?: number } = {}) {
    this.#limits = { calls: maxCalls, sessions: maxSessions, ...limits };
  }

  add(event: ModelCallEvent, atMs: number): void {
    const known = this.#sessions.get(event.session) ?? { calls: [], spend: noSpend };
    this.#sessions.delete(event.session);
    this.#sessions.set(event.session, known);
    const { calls, inputTokens, outputTokens, costUsd } = known.spend;
    known.spend = {
      calls: calls + 1,
      inputTokens: inputTokens + event.inputTokens,
      outputTokens: outputTokens + event.outputTokens,
      costUsd: costUsd + (event.costUsd ?? 0),
    };
    known.calls.push({ atMs, event });
    if (known.calls.length > this.#limits.calls) known.calls.shift();
    if (this.#sessions.size > this.#limits.sessions) this.#sessions.delete(this.#oldestOfLargest());
  }

  /** The attack: a tenant with many sessions, so that the spend of others is forgotten. So the tenant with most of them loses one. */
  #oldestOfLargest(): string {
    const tenants = new Map<string | undefined, { oldest: string; sessions: number }>();
    for (const key of this.#sessions.keys()) {
      const { oldest, sessions } = tenants.get(namespaceOf(key)) ?? { oldest: key, sessions: 0 };
      tenants.set(namespaceOf(key), { oldest, sessions: sessions + 1 });
    }
    const [largest] = [...tenants.values()].sort((one, other) => other.sessions - one.sessions);
    return largest?.oldest ?? "";
  }

  of(session: string): { readonly calls: readonly LoggedCall[]; readonly spend: ModelSpend } {
    return this.#sessions.get(session) ?? { calls: [], spend: noSpend };
  }

  remove(session: string): void {
    this.#sessions.delete(session);
  }
}
