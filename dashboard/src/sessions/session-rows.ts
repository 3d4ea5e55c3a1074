import { batch, type Signal, signal } from "@preact/signals";
import type { WireSession } from "../../../src/service/wire/sessions/session.ts";
import type { ServiceEvent } from "../api/service-events.ts";

/** A session as the lists have it; tenant and namespace only where the page sees all tenants. */
export type ListedSession = WireSession & { readonly namespace?: string; readonly tenant?: string };

/** What a sparkline shows: the last samples, oldest first. */
export interface Usage {
  readonly cpu: readonly (number | null)[];
  readonly memory: readonly (number | null)[];
}

export interface UsageSample {
  readonly cpu_percent: number | null;
  readonly memory_bytes: number | null;
}

export interface SessionUsage {
  readonly session_id: string;
  readonly namespace?: string | undefined;
  readonly samples: readonly UsageSample[];
}

/** A row has signals of its own, so that an event draws one row and not the list. */
export interface Row {
  readonly key: string;
  readonly session: Signal<ListedSession>;
  readonly usage: Signal<Usage>;
}

const maxSamples = 60;
const noUsage: Usage = { cpu: [], memory: [] };

/** The sessions that the page knows, kept up to date by events. */
export class SessionRows {
  readonly rows = signal<readonly Row[]>([]);
  readonly #byKey = new Map<string, Row>();

  /** Replaces the list. Rows of sessions that are still there stay the same objects. */
  setSessions(sessions: readonly ListedSession[]): void {
    batch(() => {
      const keys = new Set(sessions.map(keyOf));
      for (const key of [...this.#byKey.keys()]) if (!keys.has(key)) this.#byKey.delete(key);
      for (const session of sessions) this.#set(session);
      this.rows.value = [...this.#byKey.values()];
    });
  }

  setUsage(usages: readonly SessionUsage[]): void {
    batch(() => {
      for (const usage of usages) {
        const row = this.#byKey.get(keyOf(usage));
        if (!row) continue;
        const samples = usage.samples.slice(-maxSamples);
        row.usage.value = {
          cpu: samples.map(({ cpu_percent }) => cpu_percent),
          memory: samples.map(({ memory_bytes }) => memory_bytes),
        };
      }
    });
  }

  /** Takes an event of the service. Says `reload` when only the whole list can tell what changed. */
  take(event: ServiceEvent): "taken" | "reload" | "ignored" {
    if (event.session_id === null) return "ignored";
    const place = { session_id: event.session_id, namespace: event.namespace };
    const row = this.#byKey.get(keyOf(place));
    if (event.type === "usage") {
      if (row) row.usage.value = withSample(row.usage.value, event as unknown as UsageSample);
      return row ? "taken" : "ignored";
    }
    if (["session.closed", "session.opened", "session.moved"].includes(event.type)) return "reload";
    if (event.type !== "session.changed") return "ignored";
    if (!row) return "reload";
    const { session } = event as unknown as { session: ListedSession };
    row.session.value = { ...row.session.peek(), ...session };
    return "taken";
  }

  #set(session: ListedSession): void {
    const key = keyOf(session);
    const row = this.#byKey.get(key);
    if (row) row.session.value = session;
    else this.#byKey.set(key, { key, session: signal(session), usage: signal(noUsage) });
  }
}

function keyOf({ session_id, namespace }: { session_id: string; namespace?: string | undefined }): string {
  return `${namespace ?? ""}/${session_id}`;
}

function withSample({ cpu, memory }: Usage, { cpu_percent, memory_bytes }: UsageSample): Usage {
  return {
    cpu: [...cpu, cpu_percent].slice(-maxSamples),
    memory: [...memory, memory_bytes].slice(-maxSamples),
  };
}
