import { expect, test } from "vitest";
import type { AuditEntry } from "../../../service/audit/audit-files.ts";
import { RunCollector, withHistory } from "./logged-run.ts";
import { outputsJson, outputsText } from "./outputs-text.ts";

let seq = 0;
const at = (second: number) => new Date(second * 1000).toISOString();
const event = (second: number, type: string, facts: object): AuditEntry => ({
  ...{ chain: "a", seq: seq++, time: at(second) },
  event: { type, session: "demo", run: 1, ...facts },
});
const started = (second: number, facts = {}) => event(second, "run.started", { language: "python", ...facts });
const ended = (second: number, facts = {}) =>
  event(second, "run.ended", { status: "ok", durationMs: 1000, stdoutBytes: 2, stderrBytes: 1, ...facts });

function collect(...entries: AuditEntry[]) {
  const collector = new RunCollector();
  for (const entry of entries) collector.add(entry);
  return collector.runs;
}

test("a start and an end are one run", () => {
  expect(collect(started(1, { code: "x" }), ended(2, { exitCode: 3, error: "SystemExit" }))).toEqual([
    {
      ...{ session: "demo", run: 1, language: "python", startedMs: 1000, code: "x" },
      end: { endedMs: 2000, status: "ok", durationMs: 1000, exitCode: 3, error: "SystemExit", printedBytes: 3 },
    },
  ]);
});

test("a session that is created again under the same id starts to count again", () => {
  const runs = collect(started(1), ended(2), started(10), ended(11));
  expect(runs.map(({ startedMs, end }) => [startedMs, end?.endedMs])).toEqual([
    [1000, 2000],
    [10_000, 11_000],
  ]);
});

test("a run without an end stays open, and an end without a start is shown", () => {
  expect(collect(started(1))).toMatchObject([{ run: 1 }]);
  expect(collect(started(1))[0]).not.toHaveProperty("end");
  expect(collect(ended(5))).toMatchObject([{ startedMs: 4000, end: { endedMs: 5000 } }]);
});

test("events with damaged fields are skipped", () => {
  expect(collect(event(1, "run.started", { session: 1 }), event(1, "run.ended", { run: "x" }))).toEqual([]);
});

const entry = { run: 1, atMs: 2000, language: "bash", code: "whole", status: "ok", durationMs: 900 };

test("the history adds the whole code and outputs to a run, and runs that were not audited", () => {
  const audited = collect(started(1, { code: "wh", isCodeCut: true }), ended(2));
  const outputs = [{ output_type: "stream", name: "stdout", text: "hi\n" }];
  const merged = withHistory(audited, "demo", [
    { ...entry, outputs } as typeof entry,
    { ...entry, run: 2, atMs: 9000 },
  ]);
  expect(merged).toMatchObject([
    { run: 1, code: "whole", outputs, end: { printedBytes: 3 } },
    { run: 2, code: "whole", startedMs: 8100 },
  ]);
  expect(merged[0]).not.toHaveProperty("isCodeCut");
});

test("the history of a session that was created again does not mix with the runs before", () => {
  const merged = withHistory(collect(started(1), ended(2)), "demo", [{ ...entry, atMs: 90_000 }]);
  expect(merged).toHaveLength(2);
  expect(merged[0]).not.toHaveProperty("code");
});

test("the outputs of a run are shown in their order, and unknown shapes are left out", () => {
  const events = [
    { type: "stdout", text: "a\n" },
    { type: "display", display: 1, mime: "text/plain", data: Buffer.from("x") },
    { type: "display", display: 1, mime: "image/png", data: Buffer.from("png") },
    { type: "stderr", text: "no line break" },
    { type: "new", text: "x" },
    { type: "stdout", text: 7 },
    null,
  ];
  const outputs = { events, value: "42", error: { traceback: "Traceback\nValueError: no\n" }, leftOutBytes: 9 };
  expect(outputsText(outputs)).toBe(
    "a\n[text/plain, 1 bytes]\nno line break\n… 9 more bytes are not kept\n42\nTraceback\nValueError: no\n",
  );
  expect(outputsJson(outputs)).toEqual({
    events: [
      { type: "stdout", text: "a\n" },
      { type: "display", mime: "text/plain", bytes: 1 },
      { type: "display", mime: "image/png", bytes: 3 },
      { type: "stderr", text: "no line break" },
    ],
    ...{ value: "42", traceback: "Traceback\nValueError: no\n", left_out_bytes: 9 },
  });
  for (const other of [undefined, null, 7, [], { events: 7 }]) expect(outputsText(other)).toBe("");
  expect(outputsJson([])).toBeNull();
});
