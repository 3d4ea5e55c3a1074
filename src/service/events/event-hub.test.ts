import { describe, expect, test } from "vitest";
import type { AuditEvent } from "../../audit/event.ts";
import { EventHub } from "./event-hub.ts";
import type { EventReader } from "./event-reader.ts";
import type { EventLimits } from "./event-rings.ts";
import type { SentEvent } from "./event-view.ts";

const [alice, bob] = ["ns-aaaaaaaaaaaa", "ns-bbbbbbbbbbbb"];
const own = (namespace: string) => ({ audience: { numbering: "own", namespace }, hasMetrics: false }) as const;
const all = { audience: { numbering: "all" }, hasMetrics: true } as const;
const reset = (session: string): AuditEvent => ({ type: "file.deleted", session, path: "a.txt" });

function openHub(limits: Partial<EventLimits> = {}, env: Record<string, string> = {}): EventHub {
  return new EventHub({ describe: async () => undefined, limits, env, now: () => 0 });
}

async function take(reader: EventReader, count = 1): Promise<SentEvent[]> {
  const events: SentEvent[] = [];
  while (events.length < count) events.push(...(await reader.next(new AbortController().signal)));
  return events;
}

const sessions = (events: readonly SentEvent[]) =>
  events.map(({ data }) => (data as { session_id: string }).session_id);

describe("the hub of events", () => {
  test("a reader gets later events, with the ids that its tenant uses", async () => {
    const hub = openHub();
    hub.record(reset(`${alice}.before`), 0);
    using reader = hub.read(own(alice));
    hub.record(
      {
        type: "session.opened",
        session: `${alice}.a`,
        runner: "wasm",
        policy: "0",
        origin: "fork",
        from: `${alice}.p`,
      },
      5,
    );
    const [event] = await take(reader);
    expect(event?.data).toEqual({
      ...{ id: event?.id, time: "1970-01-01T00:00:00.005Z", type: "session.opened", session_id: "a" },
      ...{ session: "a", runner: "wasm", policy: "0", origin: "fork", from: "p" },
    });
  });

  test("a reader resumes after the last event that it has", async () => {
    const hub = openHub();
    const first = hub.read(own(alice));
    for (const name of ["a", "b", "c"]) hub.record(reset(`${alice}.${name}`), 0);
    const [, second] = await take(first, 3);
    first[Symbol.dispose]();
    hub.record(reset(`${alice}.d`), 0);
    using again = hub.read({ ...own(alice), after: second?.id });
    expect(sessions(await take(again, 2))).toEqual(["c", "d"]);
  });

  test.each(["e000000000000-1", "nonsense", "e-1", ""])(
    "an id of another process, %j, is answered with a gap",
    async (after) => {
      const hub = openHub();
      hub.record(reset(`${alice}.a`), 0);
      using reader = hub.read({ ...own(alice), after });
      expect(await take(reader)).toMatchObject([{ type: "gap", id: hub.read(own(alice)).position }]);
    },
  );

  test("an id with a number that was never given is answered with a gap", async () => {
    const hub = openHub();
    using reader = hub.read({ ...own(alice), after: hub.read(own(alice)).position.replace(/\d+$/, "99") });
    expect(await take(reader)).toMatchObject([{ type: "gap" }]);
  });

  test("tenants do not see each other, nor in the numbers how active others are", async () => {
    const hub = openHub();
    using reader = hub.read(own(alice));
    const before = reader.position;
    for (let index = 0; index < 10; index++) hub.record(reset(`${bob}.b`), 0);
    hub.record({ type: "override.applied", by: "flags", policy: "0", changes: [] }, 0);
    expect(hub.read(own(alice)).position).toBe(before);
    hub.record(reset(`${alice}.a`), 0);
    const events = await take(reader);
    expect(sessions(events)).toEqual(["a"]);
    expect(events[0]?.id).toBe(before.replace(/0$/, "1"));
  });

  test("who reads all tenants gets them in order, with their namespaces", async () => {
    const hub = openHub();
    using reader = hub.read(all);
    hub.record(reset(`${bob}.b`), 0);
    hub.record(reset(`${alice}.a`), 0);
    hub.record({ type: "override.applied", by: "flags", policy: "0", changes: [] }, 0);
    const events = await take(reader, 3);
    expect(events.map(({ data }) => data)).toMatchObject([
      { namespace: bob, session_id: "b", session: `${bob}.b` },
      { namespace: alice, session_id: "a" },
      { namespace: null, session_id: null },
    ]);
    using one = hub.read({
      ...all,
      audience: { numbering: "all", namespace: alice },
      after: reader.position.replace(/\d+$/, "0"),
    });
    expect(sessions(await take(one))).toEqual(["a"]);
  });

  test("a reader of one session gets only its events", async () => {
    const hub = openHub();
    using reader = hub.read({ ...own(alice), session: "b" });
    for (let index = 0; index < 200; index++) hub.record(reset(`${alice}.a`), 0);
    hub.record(reset(`${alice}.b`), 0);
    expect(sessions(await take(reader))).toEqual(["b"]);
  });

  test("a reader that takes nothing gets a gap, and its memory is bounded", async () => {
    const hub = openHub({ eventsPerTenant: 100, bytesPerTenant: 40_000 });
    using reader = hub.read(own(alice));
    for (let index = 0; index < 10_000; index++) hub.record(reset(`${alice}.s${index}`), 0);
    expect(hub.bytes).toBeLessThanOrEqual(40_000);
    expect(await take(reader)).toMatchObject([{ type: "gap" }]);
    hub.record(reset(`${alice}.next`), 0);
    expect(sessions(await take(reader))).toEqual(["next"]);
  });

  test("a tenant with many events does not evict those of others", async () => {
    const hub = openHub({ bytes: 100_000, bytesPerTenant: 1_000_000 });
    const after = hub.read(own(alice)).position;
    hub.record(reset(`${alice}.a`), 0);
    for (let index = 0; index < 5_000; index++) hub.record(reset(`${bob}.b`), 0);
    expect(hub.bytes).toBeLessThanOrEqual(100_000);
    using reader = hub.read({ ...own(alice), after });
    expect(sessions(await take(reader))).toEqual(["a"]);
  });

  test("values of environment variables do not appear in events", async () => {
    const hub = openHub({}, { KEY: "hunter2hunter2" });
    using reader = hub.read(own(alice));
    hub.record({ type: "file.deleted", session: `${alice}.a`, path: "x-hunter2hunter2" }, 0);
    expect(JSON.stringify(await take(reader))).not.toContain("hunter2");
  });

  test("of usage a slow reader gets the latest, and statistics only with the metrics", async () => {
    const hub = openHub();
    using reader = hub.read(own(alice));
    using admin = hub.read(all);
    for (const memory_bytes of [1, 2, 3]) {
      hub.publish({ type: "usage", session: `${alice}.a`, atMs: 0, fields: { memory_bytes } });
      hub.publish({ type: "usage", session: `${bob}.b`, atMs: 0, fields: { memory_bytes } });
      hub.publish({ type: "statistics", atMs: 0, fields: { sample: memory_bytes } });
    }
    expect((await take(reader)).map(({ data }) => data)).toMatchObject([{ session_id: "a", memory_bytes: 3 }]);
    expect((await take(admin, 3)).map(({ type }) => type)).toEqual(["usage", "usage", "statistics"]);
  });

  test("a session that changed while nobody read is published to who resumes", async () => {
    const described: string[] = [];
    const describe = async (key: string) => {
      described.push(key);
      return { isBusy: false, fields: { session: { session_id: key } } };
    };
    const hub = new EventHub({ describe });
    const first = hub.read(own(alice));
    const after = first.position;
    first[Symbol.dispose]();
    hub.changed(`${alice}.a`);
    hub.changed(`${bob}.b`);
    expect(described).toEqual([]);
    using reader = hub.read({ ...own(alice), after });
    expect(await take(reader)).toMatchObject([{ type: "session.changed", data: { session_id: "a" } }]);
    expect(described).toEqual([`${alice}.a`]);
  });

  test("a session that another gateway took ends the streams of that session alone, and is told to the others", async () => {
    const hub = openHub();
    using all = hub.read(own(alice));
    using its = hub.read({ ...own(alice), session: "a" });
    using another = hub.read({ ...own(alice), session: "b" });
    using strangers = hub.read({ ...own(bob), session: "a" });
    hub.moved(`${alice}.a`);
    expect(await take(its)).toMatchObject([{ type: "session.moved", data: { session_id: "a" } }]);
    expect(await its.next(new AbortController().signal)).toEqual([]);
    expect(await take(all)).toMatchObject([{ type: "session.moved", data: { session_id: "a" } }]);
    hub.missed();
    for (const reader of [all, another, strangers]) expect(await take(reader)).toMatchObject([{ type: "gap" }]);
  });

  test("what runs while somebody reads stops with the last reader", () => {
    const hub = openHub();
    const calls: string[] = [];
    hub.whileRead(() => {
      calls.push("start");
      return { [Symbol.dispose]: () => void calls.push("stop") };
    });
    const [first, second] = [hub.read(own(alice)), hub.read(own(bob))];
    first[Symbol.dispose]();
    expect(calls).toEqual(["start"]);
    second[Symbol.dispose]();
    second[Symbol.dispose]();
    expect(calls).toEqual(["start", "stop"]);
  });
});
