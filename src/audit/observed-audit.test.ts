import { expect, test } from "vitest";
import { silentAudit } from "./audit.ts";
import type { AuditEvent } from "./event.ts";
import { ObservedAudit } from "./observed-audit.ts";

const reset = (session: string): AuditEvent => ({ type: "session.reset", session });
const paths = (session: string): AuditEvent => ({ type: "file.deleted", session, path: "a" });

test("events of a session wait for the one before them, and those of others do not", async () => {
  let now = 1;
  const audit = new ObservedAudit(silentAudit, () => now++);
  const seen: [string, string, number][] = [];
  const observing = audit.observe((event, atMs) => {
    if ("session" in event) seen.push([event.session ?? "", event.type, atMs]);
  });
  let settle: (events: AuditEvent[]) => void = () => {};
  const later = new Promise<AuditEvent[]>((resolve) => {
    settle = resolve;
  });
  audit.recordLater(later, "a");
  audit.record(reset("a"));
  audit.record(reset("b"));
  expect(seen).toEqual([["b", "session.reset", 3]]);
  settle([paths("a")]);
  await later;
  expect(seen.slice(1)).toEqual([
    ["a", "file.deleted", 1],
    ["a", "session.reset", 2],
  ]);
  audit.recordLater(Promise.reject(new Error("lost")), "a");
  audit.record(reset("a"));
  await new Promise(setImmediate);
  expect(seen.at(-1)).toEqual(["a", "session.reset", 5]);
  observing[Symbol.dispose]();
  audit.record(reset("a"));
  expect(seen).toHaveLength(4);
});
