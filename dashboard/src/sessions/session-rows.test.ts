import { effect } from "@preact/signals";
import { expect, test } from "vitest";
import type { ServiceEvent } from "../api/service-events.ts";
import { compare, firstView, isShown, type View } from "./list-order.ts";
import { type ListedSession, SessionRows } from "./session-rows.ts";

function listed(session_id: string, more: Partial<ListedSession> = {}): ListedSession {
  return { session_id, state: "live", busy: false, runs: 1, runner: "wasm", ...more } as ListedSession;
}

function event(type: string, session_id: string, more: object = {}): ServiceEvent {
  return { id: "e-1", time: "2026-11-17T16:00:00.000Z", type, session_id, ...more };
}

test("an event changes one row and leaves the others alone", () => {
  const list = new SessionRows();
  list.setSessions([listed("a"), listed("b")]);
  const draws: string[] = [];
  for (const row of list.rows.value) effect(() => void draws.push(row.session.value.session_id));
  draws.length = 0;
  expect(list.take(event("session.changed", "b", { session: listed("b", { runs: 2 }) }))).toBe("taken");
  expect(draws).toEqual(["b"]);
  expect(list.rows.value.map(({ session }) => session.value.runs)).toEqual([1, 2]);
});

test("the same name in two namespaces is two sessions, and a change keeps the tenant's name", () => {
  const list = new SessionRows();
  list.setSessions([
    listed("a", { namespace: "ns-1", tenant: "ann" }),
    listed("a", { namespace: "ns-2", tenant: "bob" }),
  ]);
  list.take(event("session.changed", "a", { namespace: "ns-2", session: listed("a", { busy: true }) }));
  expect(list.rows.value.map(({ session }) => [session.value.tenant, session.value.busy])).toEqual([
    ["ann", false],
    ["bob", true],
  ]);
});

test("usage is kept for the last 60 samples", () => {
  const list = new SessionRows();
  list.setSessions([listed("a")]);
  list.setUsage([{ session_id: "a", samples: [{ cpu_percent: null, memory_bytes: 1 }] }]);
  for (let at = 0; at < 70; at++) list.take(event("usage", "a", { cpu_percent: at, memory_bytes: at }));
  expect(list.rows.value[0]?.usage.value.cpu).toHaveLength(60);
  expect(list.rows.value[0]?.usage.value.memory.at(-1)).toBe(69);
});

test("sessions that come and go ask for the list", () => {
  const list = new SessionRows();
  list.setSessions([listed("a")]);
  expect(list.take(event("session.changed", "new", { session: listed("new") }))).toBe("reload");
  expect(list.take(event("session.closed", "a"))).toBe("reload");
  expect(list.take(event("session.moved", "elsewhere"))).toBe("reload");
  expect(list.take(event("run.ended", "a"))).toBe("ignored");
  const [row] = list.rows.value;
  list.setSessions([listed("b"), listed("a")]);
  expect(list.rows.value).toContain(row);
});

test("the list is searched, filtered and sorted", () => {
  const sessions = [
    listed("b", { runs: 2, tenant: "ann" }),
    listed("a", { runs: 2, state: "saved", busy: null }),
    listed("c", { runs: 9, busy: true, runner: "process" }),
    listed("d", { runs: null, state: "damaged" }),
  ];
  const shown = (view: Partial<View>) => {
    const full = { ...firstView, sort: "runs", descending: false, ...view } as View;
    return sessions
      .filter((session) => isShown(session, full))
      .sort((a, b) => compare(a, b, full))
      .map(({ session_id }) => session_id)
      .join("");
  };
  expect(shown({})).toBe("dabc");
  expect(shown({ descending: true })).toBe("cabd");
  expect(shown({ state: "busy" })).toBe("c");
  expect(shown({ state: "live" })).toBe("b");
  expect(shown({ runner: "wasm", sort: "session" })).toBe("abd");
  expect(shown({ search: " PROC " })).toBe("c");
  expect(shown({ tenant: "ann" })).toBe("b");
});
