import type { ListedSession } from "./session-rows.ts";

export const columns = ["session", "tenant", "runner", "policy", "state", "runs", "created", "used"] as const;
export type Column = (typeof columns)[number];

/** What of the list is shown, and in which order. */
export interface View {
  readonly search: string;
  /** "" shows all */
  readonly state: string;
  readonly runner: string;
  readonly tenant: string;
  readonly sort: Column;
  readonly descending: boolean;
}

export const firstView: View = { search: "", state: "", runner: "", tenant: "", sort: "used", descending: true };

/** Pure: whether the filters of the view let a session through. */
export function isShown(session: ListedSession, { search, state, runner, tenant }: View): boolean {
  if (state !== "" && stateOf(session) !== state) return false;
  if (runner !== "" && session.runner !== runner) return false;
  if (tenant !== "" && session.tenant !== tenant) return false;
  const wanted = search.trim().toLowerCase();
  if (wanted === "") return true;
  const { session_id, runner: its, policy_hash, tenant: whose } = session;
  return [session_id, its, policy_hash, whose].some((text) => text?.toLowerCase().includes(wanted));
}

/** Pure: the order of two sessions. Those that are equal keep the order of their names. */
export function compare(a: ListedSession, b: ListedSession, { sort, descending }: View): number {
  const order = compareValues(columnValue(a, sort), columnValue(b, sort));
  if (order !== 0) return descending ? -order : order;
  return compareValues(a.session_id, b.session_id);
}

/** Pure: the state as people see it: a live session with a run in it is busy. */
export function stateOf({ state, busy }: ListedSession): string {
  return state === "live" && busy ? "busy" : state;
}

function columnValue(session: ListedSession, column: Column): string | number | null | undefined {
  switch (column) {
    case "session":
      return session.session_id;
    case "tenant":
      return session.tenant;
    case "runner":
      return session.runner;
    case "policy":
      return session.policy_hash;
    case "state":
      return stateOf(session);
    case "runs":
      return session.runs;
    case "created":
      return session.created_at;
    case "used":
      return session.used_at;
  }
}

function compareValues(a: string | number | null | undefined, b: string | number | null | undefined): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return a < b ? -1 : 1;
}
