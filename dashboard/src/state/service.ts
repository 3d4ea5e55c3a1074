import { computed, effect, signal, untracked } from "@preact/signals";
import { getJson } from "../api/client.ts";
import { type Connection, type EventListener, followEvents, type ServiceEvent } from "../api/service-events.ts";
import { route } from "./route.ts";

/** Who the page is, and what the service is: `GET /v1/me`. */
export interface Me {
  readonly token: string;
  readonly namespace: string;
  readonly scopes: readonly string[];
  readonly expires_at: string | null;
  readonly service: {
    readonly version: string;
    readonly started_at: string;
    readonly policy_hash: string;
    readonly audit: boolean;
    readonly network: boolean;
    readonly models: readonly string[];
    readonly persist: boolean;
    readonly gateways: boolean;
    readonly undo: number;
  };
}

export const me = signal<Me | undefined>(undefined);
export const connection = signal<Connection>({ state: "connecting" });
export const isAdmin = computed(() => me.value?.scopes.includes("admin") === true);
/** whether this token may run code and change sessions */
export const canRun = computed(() => me.value?.scopes.some((scope) => scope === "run" || scope === "admin") === true);
/** why no run can be undone; undefined: runs can be undone */
export const whyNoUndo = computed(() =>
  me.value?.service.undo === 0
    ? "The policy keeps no state to go back to: its key session.undo says of how many runs"
    : undefined,
);
/** Counts how often everything has to be loaded again. Panels load their data in an effect that reads it. */
export const generation = signal(0);

type Listener = (event: ServiceEvent) => void;
const listeners = new Set<Listener>();

/** Calls `listener` for each event from now on, until the returned function is called. */
export function onEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Which events the page follows. With several gateways, each one has the events of its own sessions: the stream of one session is
 * passed on to the gateway that has it.
 */
const followed = computed(() => {
  const now = route.value;
  if (now.page !== "session" || !me.value?.service.gateways) return isAdmin.value ? "?namespaces=all" : "";
  const { id: session, namespace } = now.session;
  return `?${new URLSearchParams({ session, ...(namespace === undefined ? {} : { namespace }) })}`;
});

/** Connects with the present token until the signal is aborted. */
export async function connect(signal: AbortSignal): Promise<void> {
  me.value = await getJson<Me>("/v1/me", { signal });
  if (signal.aborted) return;
  const stop = effect(() => {
    const query = followed.value;
    const leaving = new AbortController();
    untracked(() => void followEvents(query, listener, leaving.signal));
    return () => leaving.abort();
  });
  signal.addEventListener("abort", stop, { once: true });
}

const listener: EventListener = {
  event: (event) => {
    for (const one of listeners) one(event);
  },
  reload: () => {
    generation.value++;
  },
  connection: (now) => {
    connection.value = now;
  },
};
