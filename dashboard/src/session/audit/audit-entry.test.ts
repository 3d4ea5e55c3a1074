import { expect, test } from "vitest";
import { auditEventTypes } from "../../../../src/audit/event.ts";
import { type AuditEntry, auditGroups, detailsOf, withLive } from "./audit-entry.ts";

test("the groups to filter by are those of the service, without those about the audit itself", () => {
  const groups = new Set(auditEventTypes.map((type) => type.split(".")[0]));
  groups.delete("audit");
  expect(new Set(auditGroups)).toEqual(groups);
});

test("details leave out what has a column, and show the rest as text", () => {
  const entry = { time: "t", type: "run.ended", run: 1, session: "s", seq: 3, status: "ok" };
  const more = { network: [], durationMs: 55.24068999, files: [{ name: "a" }] };
  expect(detailsOf({ ...entry, ...more })).toEqual([
    { name: "status", text: "ok" },
    { name: "durationMs", text: "55.24" },
    { name: "files", text: '[{"name":"a"}]' },
  ]);
});

const at = (ms: number) => new Date(ms).toISOString();
const deleted = (ms: number, path: string): AuditEntry => ({ time: at(ms), type: "file.deleted", path });

test("an event that came from both sources is shown once", () => {
  const page = [{ ...deleted(1_000, "a"), chain: "c", seq: 4 }];
  const live = [{ ...deleted(1_003, "a"), id: "e-1", session_id: "s" }];
  expect(withLive(page, live)).toEqual(page);
});

test("equal events at other times, and two in a row, are all shown", () => {
  const page = [deleted(1_000, "a")];
  expect(withLive(page, [deleted(1_001, "a"), deleted(1_002, "a")])).toHaveLength(2);
  expect(withLive(page, [deleted(60_000, "a"), deleted(60_000, "b")])).toHaveLength(3);
});
