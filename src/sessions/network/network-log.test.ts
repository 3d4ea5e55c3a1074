import { expect, test } from "vitest";
import type { EgressEvent } from "../../egress/rules/events.ts";
import { NetworkLog } from "./network-log.ts";

const allowed = (id: number, host: string): EgressEvent => {
  return { type: "allowed", id, via: "connect", host, port: 443, rule: "*.test" };
};
const denied: EgressEvent = {
  ...{ type: "denied", via: "connect", host: "evil.test", port: 443, code: "address" },
  ...{ reason: "evil.test is private", remedy: "do not", address: "10.0.0.1" },
};

test("an entry says which rule decided, and its bytes grow while the connection lasts", () => {
  const log = new NetworkLog({ now: () => 5 });
  log.add(allowed(1, "a.test"));
  log.add({ type: "progress", id: 1, host: "a.test", port: 443, sentBytes: 3, receivedBytes: 4 });
  const facts = {
    atMs: 5,
    run: undefined,
    host: "a.test",
    port: 443,
    verdict: "allowed",
    rule: "net.allowlist: *.test",
  };
  expect(log.list("s").entries).toEqual([
    { ...facts, reason: undefined, address: undefined, sentBytes: 3, receivedBytes: 4 },
  ]);
  log.add({ type: "closed", id: 1, host: "a.test", port: 443, sentBytes: 5, receivedBytes: 6, failure: "reset" });
  log.add({ type: "closed", id: 1, host: "a.test", port: 443, sentBytes: 99, receivedBytes: 99 });
  expect(log.list("s").entries).toMatchObject([{ sentBytes: 5, receivedBytes: 6, reason: "reset" }]);
  log.add(denied);
  log.add({ type: "failed", via: "http", host: "b.test", port: 80, rule: "b.test", reason: "refused" });
  expect(log.list("s").entries.slice(1)).toMatchObject([
    { verdict: "denied", rule: "private and local addresses are refused", address: "10.0.0.1", sentBytes: undefined },
    { verdict: "allowed", rule: "net.allowlist: b.test", reason: "refused", sentBytes: undefined },
  ]);
});

test("an entry belongs to the only run at that time, and other sessions of the cell do not see it", () => {
  const log = new NetworkLog();
  const first = log.runStarts({ session: () => "one", run: 7 });
  log.add(allowed(1, "a.test"));
  const second = log.runStarts({ session: () => "two", run: 1 });
  log.add(allowed(2, "b.test"));
  first();
  log.add(allowed(3, "c.test"));
  second();
  log.add(allowed(4, "d.test"));
  const seen = (session: string) => log.list(session).entries.map(({ host, run }) => [host, run]);
  expect(seen("one")).toEqual([
    ["a.test", 7],
    ["b.test", undefined],
    ["d.test", undefined],
  ]);
  expect(seen("two")).toEqual([
    ["b.test", undefined],
    ["c.test", 1],
    ["d.test", undefined],
  ]);
});

test("a program that asks for many hosts fills no memory", () => {
  const log = new NetworkLog({ limit: 10 });
  for (let index = 0; index < 50; index++) log.add(denied);
  expect([log.list("s").entries.length, log.list("s").dropped]).toEqual([10, 40]);
});
