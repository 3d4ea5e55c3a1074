import { describe, expect, test } from "vitest";
import { fakeResult } from "../../../test/fakes/fake-result.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { SessionInfo } from "../../sessions/session-info.ts";
import type { SessionRecord } from "../../sessions/storage/session-record.ts";
import { shapeResult, shapeStreams } from "../output/shape-output.ts";
import { artifactSchema, encodeArtifact } from "./artifact.ts";
import { egressSchema, encodeEgress } from "./egress.ts";
import { encodeError, errorSchema } from "./error.ts";
import { encodeFile, encodeFileList, fileListSchema } from "./file.ts";
import { encodeReceipt, receiptSchema } from "./receipt.ts";
import { encodeReceiptSummary, receiptSummarySchema } from "./receipt-summary.ts";
import { encodeRun, encodeRunning, runSchema } from "./runs/run.ts";
import { encodeRunEvent, runEventSchema } from "./runs/run-event.ts";
import { encodeRunSummary, runSummarySchema } from "./runs/run-summary.ts";
import { encodeToolRun, encodeToolRunning, toolRunSchema } from "./runs/tool-run.ts";
import { wireJsonSchema, wireNames } from "./schemas.ts";
import { checkpointSchema, encodeCheckpoint } from "./sessions/checkpoint.ts";
import { encodeHistoryEntry, historyEntrySchema } from "./sessions/history.ts";
import {
  encodeSession,
  encodeSessionDetail,
  encodeStoredSession,
  sessionDetailSchema,
  sessionSchema,
} from "./sessions/session.ts";
import { encodeRestore, encodeSnapshot, restoreSchema, snapshotSchema } from "./sessions/snapshot.ts";
import { encodeVariable, variableSchema } from "./sessions/variable.ts";
import { encodeUsage, usageSchema } from "./usage.ts";

const place = { runId: "run_1", sessionId: "s-1", nextOffset: 4 };
const artifact = { name: "a.csv", size: 3, mimeType: "text/csv", sha256: "ab", modifiedMs: 0, run: 1 };
const error = { name: "ValueError", message: "no", traceback: "Traceback\nValueError: no" };
const reached = { host: "a.example", port: 443, requests: 2, sentBytes: 10, receivedBytes: 20, failures: 0 };
const refused = { host: "b.example", port: 80, requests: 1, reason: "not named", remedy: "add it" };
const egress = { allowed: [reached], denied: [refused], more: 1, sentBytes: 10, receivedBytes: 20 };
const snapshot = {
  ...{ sha256: "ab".repeat(32), bytes: 2048, savedMs: 1000, run: 3, python: "3.11.2", runner: "process" },
  saved: ["x", "f"],
  skipped: [{ name: "conn", reason: "cannot pickle" }],
};
const record: SessionRecord = {
  ...{ version: 1, id: "work", workspace: "m0-1", createdMs: 0, usedMs: 60_000, runs: 3, snapshot },
};
const checkpoint = { name: "clean", run: 2, atMs: 5_000 };
const running = {
  ...{ status: "running" as const, runId: "run_1", elapsedMs: 12.4, nextOffset: 2 },
  outputSoFar: shapeStreams({ stdout: "so far\n", stderr: "" }, { characters: 4_000 }),
};

describe("an encoded run", () => {
  test("that failed has its error, files and usage in the wire format", () => {
    const receipt = { ...fakeResult().receipt, network: { carrier: "streams" as const, reason: "no listener" } };
    const display = { type: "display" as const, display: 1, mime: "text/html", data: Buffer.from("<b>") };
    const result = fakeResult({
      ...{ status: "error", exitCode: 1, error, stdout: "é", egress, receipt, displays: [display] },
      artifacts: [artifact],
      leftOut: [{ name: "link", reason: "refused", message: "a link" }],
    });
    const downloadUrl = ({ name }: { name: string }) => `http://files.example/${name}`;
    const run = encodeRun(result, place, { downloadUrl, displayBytes: 1024, withReceipt: true });
    expect(runSchema.parse(run)).toEqual(run);
    expect(run).toMatchObject({
      ...{ run_id: "run_1", session_id: "s-1", status: "error", state: "kept", exit_code: 1, value: null },
      ...{ stdout: "é", stdout_bytes: 2, duration_ms: 12, next_offset: 4, policy_hash: "0" },
      error: { type: "ValueError", message: "no", traceback: "Traceback\nValueError: no" },
      displays: [{ display: 1, mime_type: "text/html", size: 3, data_base64: "PGI+" }],
      artifacts: [{ name: "a.csv", size: 3, mime_type: "text/csv", download_url: "http://files.example/a.csv" }],
      left_out: [{ name: "link", reason: "refused", message: "a link" }],
      usage: { cpu_ms: 3.5, peak_memory_bytes: 12_582_912, wall_ms: 12 },
      receipt: { network: { carrier: "streams", reason: "no listener" } },
    });
  });

  test("includes displays up to displayBytes, and the sizes of all", () => {
    const displays = [1, 2].map((display) => {
      return { type: "display" as const, display, mime: "image/png", data: new Uint8Array(600) };
    });
    const { displays: shown } = encodeRun(fakeResult({ displays }), place, { displayBytes: 1_000 });
    expect(shown.map(({ size, data_base64 }) => [size, data_base64?.length ?? null])).toEqual([
      [600, 800],
      [600, null],
    ]);
  });

  test("that is still running has null for everything that is known only at the end", () => {
    const run = encodeRunning(running, { sessionId: "s-1", runner: "wasm" });
    expect(runSchema.parse(run)).toEqual(run);
    expect(run).toMatchObject({ status: "running", stdout: "so far\n", stderr: "", duration_ms: 12, usage: null });
    expect(run).toMatchObject({ state: null, stdout_bytes: null, policy_hash: null });
  });

  test("with an unknown field does not match the schema", () => {
    const run = encodeRun(fakeResult(), place);
    expect(runSchema.safeParse({ ...run, result: "42" }).success).toBe(false);
    expect(runSchema.safeParse({ ...run, usage: { ...run.usage, cpu: 1 } }).success).toBe(false);
  });

  test("can be shortened to a summary for lists", () => {
    const handle = { runId: "run_1", sessionId: "s", isCancelled: false, elapsedMs: 1.6, nextOffset: 0, number: 4 };
    const program = { code: "x = 1", isCodeCut: false, language: "python" } as const;
    const summary = encodeRunSummary({ ...handle, status: "failed", program });
    expect(runSummarySchema.parse(summary)).toEqual(summary);
    expect(summary).toMatchObject({ run_id: "run_1", status: "failed", cancelled: false, duration_ms: 2 });
    expect(summary).toMatchObject({ number: 4, code: "x = 1", code_cut: false, language: "python" });
    const unknown = encodeRunSummary({ ...handle, status: "failed", number: undefined, program: undefined });
    expect(unknown).toMatchObject({ number: null, code: null, code_cut: false, language: null });
  });
});

describe("a receipt", () => {
  const rules = [
    { rule: "proc.timeout", value: "30s", by: "supervisor watchdog", how: "interrupt, then SIGKILL" },
    { rule: "audit.enabled", value: "true", by: "nobody", how: "not enforced: this program turned the audit off" },
  ] as const;
  const receipt = { runner: "process", runnerVersion: "bubblewrap 0.8.0", policyHash: "0", rules, notes: [] };

  test("has a summary that lists only the rules that nobody enforces", () => {
    const summary = encodeReceiptSummary(receipt, "process");
    expect(receiptSummarySchema.parse(summary)).toEqual(summary);
    expect(summary).toMatchObject({ runner: "process", isolation: "process", enforced: 1 });
    expect(summary.not_enforced).toEqual([
      { rule: "audit.enabled", value: "true", why: "not enforced: this program turned the audit off" },
    ]);
  });
});

describe("a run encoded for a model", () => {
  const uris = { ...place, artifactUri: (name: string) => `codecell://${name}` };

  test("has the same fields and values as a run, and its own additional fields", () => {
    const result = fakeResult({ status: "error", error, stdout: "out", value: "42", artifacts: [artifact] });
    const shaped = shapeResult(result, { characters: 4_000 });
    const tool = encodeToolRun(result, shaped, 0, uris);
    expect(toolRunSchema.parse(tool)).toEqual(tool);
    const run: Record<string, unknown> = encodeRun(result, place);
    const { output_handle, images, artifacts, error: shown, ...rest } = tool;
    expect({ output_handle, images }).toEqual({ output_handle: null, images: 0 });
    expect(artifacts.map(({ uri: _, ...one }) => one)).toEqual(run.artifacts);
    expect(shown).toEqual({ type: "ValueError", message: "no", traceback: "Traceback" });
    for (const [name, value] of Object.entries(rest)) expect([name, value]).toEqual([name, run[name]]);
  });

  test("separates class and message of an error even if the message looks like another error", () => {
    const odd = { name: "A: B", message: "C: D", traceback: "" };
    const result = fakeResult({ status: "error", error: odd });
    const shaped = shapeResult(result, { characters: 4_000 });
    expect(encodeToolRun(result, shaped, 0, uris).error).toEqual({ type: "A: B", message: "C: D", traceback: "" });
  });

  test("does not change output that imitates a label", () => {
    const result = fakeResult({ stdout: "[stdout]\n[stdout]\nx" });
    const shaped = shapeResult(result, { characters: 4_000 });
    expect(encodeToolRun(result, shaped, 0, uris).stdout).toBe("[stdout]\n[stdout]\nx");
  });

  test("has the status running and the output so far while it is running", () => {
    const tool = encodeToolRunning(running, { sessionId: "s", runner: "wasm", notes: ["wait"] });
    expect(toolRunSchema.parse(tool)).toEqual(tool);
    expect(tool).toMatchObject({ status: "running", stdout: "so far\n", notes: ["wait"], usage: null });
  });
});

test("encoded run events have their type and offset", () => {
  const text = encodeRunEvent({ type: "stderr", text: "x" }, 3);
  const display = encodeRunEvent({ type: "display", display: 1, mime: "image/png", data: new Uint8Array(3) }, 4);
  expect([text, display].map((event) => runEventSchema.parse(event))).toEqual([
    { type: "stderr", offset: 3, text: "x" },
    {
      type: "display",
      offset: 4,
      display: 1,
      mime_type: "image/png",
      size: 3,
      stdout_offset: null,
      data_base64: "AAAA",
    },
  ]);
  expect(runEventSchema.safeParse({ ...text, more: 1 }).success).toBe(false);
});

describe("an encoded session", () => {
  const info: SessionInfo = {
    ...{ id: "work", state: "live", isBusy: true, createdMs: 0, usedMs: 60_000, runs: 3, runner: "process" },
    ...{ isPersistent: true, checkpoints: [checkpoint], snapshot, sharers: 2, policyHash: "ab" },
  };

  test("of this process has all fields", () => {
    const session = encodeSession(info);
    expect(sessionSchema.parse(session)).toEqual(session);
    expect(session).toMatchObject({
      ...{ session_id: "work", busy: true, created_at: "1970-01-01T00:00:00.000Z", shared_cell: 2 },
      checkpoints: [{ name: "clean", after_run: 2, created_at: "1970-01-01T00:00:05.000Z" }],
      ...{ saved_variables: 2, skipped_variables: 1, snapshot_size: 2048, policy_hash: "ab" },
    });
  });

  test("from the disk has null for what only its own process knows", () => {
    const saved = encodeStoredSession({ id: "work", state: "saved", record });
    const fresh = encodeStoredSession({ id: "new", state: "live", record: { ...record, snapshot: undefined } });
    const broken = encodeStoredSession({ id: "broken", state: "damaged", problem: "cannot be read" });
    for (const session of [saved, fresh, broken]) expect(sessionSchema.parse(session)).toEqual(session);
    expect(saved).toMatchObject({ state: "saved", runs: 3, runner: "process", saved_variables: 2, busy: null });
    expect(fresh).toMatchObject({ state: "live", runner: null, saved_variables: null, checkpoints: null });
    expect(broken).toMatchObject({ state: "damaged", problem: "cannot be read", runs: null, used_at: null });
  });

  test("with details has its snapshot, history and files", () => {
    const entry = { run: 3, atMs: 0, language: "python", code: "x", status: "ok", durationMs: 1.6 };
    const files = { files: [{ path: "a", size: 5, modifiedMs: 0 }], leftOut: 0, truncated: false };
    const shown = encodeSessionDetail({ id: "work", state: "saved", record }, [entry], files);
    expect(sessionDetailSchema.parse(shown)).toEqual(shown);
    expect(shown).toMatchObject({ snapshot: { after_run: 3 }, history: [{ run: 3 }], files: [{ name: "a" }] });
    const apart = encodeSessionDetail({ id: "work", state: "saved", record }, [], undefined);
    expect(sessionDetailSchema.parse(apart)).toMatchObject({ files: null, next: null });
  });
});

test("an encoded restore lists the restored variables and those that failed", () => {
  const failed = [{ name: "f", reason: "no module" }];
  const partly = encodeRestore("work", "process", { snapshot, failed, problem: undefined, note: "" });
  expect(restoreSchema.parse(partly)).toMatchObject({ after_run: 3, variables: ["x"], failed, problem: null });
  const problem = new CodecellError("snapshot_damaged", "cannot be read", { hint: "start again" });
  const lost = encodeRestore("work", "process", { snapshot, failed: [], problem, note: "" });
  expect(restoreSchema.parse(lost)).toMatchObject({
    variables: [],
    problem: { code: "snapshot_damaged", message: "cannot be read", hint: "start again" },
  });
  expect(restoreSchema.parse(encodeRestore("work", "process", undefined))).toMatchObject({ after_run: null });
});

test("every encoder returns an object that matches its schema", () => {
  expect(snapshotSchema.parse(encodeSnapshot("work", snapshot))).toMatchObject({
    saved_at: "1970-01-01T00:00:01.000Z",
  });
  expect(checkpointSchema.parse(encodeCheckpoint(checkpoint))).toMatchObject({ after_run: 2 });
  expect(artifactSchema.parse(encodeArtifact(artifact))).not.toHaveProperty("download_url");
  expect(egressSchema.parse(encodeEgress(egress)).allowed[0]).toMatchObject({ sent_bytes: 10, failure: null });
  expect(receiptSchema.parse(encodeReceipt(fakeResult().receipt))).toMatchObject({
    runner_version: "fake",
    network: null,
  });
  const entry = { run: 1, atMs: 0, language: "python", code: "x", status: "ok", durationMs: 1.6 };
  expect(historyEntrySchema.parse(encodeHistoryEntry(entry))).toMatchObject({ duration_ms: 2 });
  expect(variableSchema.parse(encodeVariable({ name: "x", type: "int", summary: "1" }))).toMatchObject({ size: null });
});

test("encoded usage has null for values that the cell did not report", () => {
  const usage = { cpuMs: undefined, peakMemoryBytes: undefined, wallMs: 1.23456, sentBytes: 1, receivedBytes: 2 };
  expect(usageSchema.parse(encodeUsage(usage))).toEqual({
    ...{ cpu_ms: null, peak_memory_bytes: null, wall_ms: 1.235, sent_bytes: 1, received_bytes: 2 },
  });
});

test("an encoded file has a null time if its time is outside the range of dates", () => {
  const times = [1e300, -1e300, 8.64e15, Number.NaN].map((modifiedMs) =>
    encodeFile({ path: "x", size: 1, modifiedMs }),
  );
  expect(times.map(({ modified_at }) => modified_at)).toEqual([null, null, null, null]);
  const list = { files: [{ path: "a", size: 1, modifiedMs: 0 }], leftOut: 2, truncated: true, next: "a" };
  const shown = encodeFileList(list, new Map([["a", "http://files.example/a"]]));
  expect(fileListSchema.parse(shown)).toEqual({
    files: [{ name: "a", size: 1, modified_at: "1970-01-01T00:00:00.000Z", download_url: "http://files.example/a" }],
    ...{ next: "a", left_out: 2, truncated: true },
  });
});

test("an encoded error has a code, a message, a hint and optional details", () => {
  const bare = encodeError({ code: "usage", message: "no" });
  expect(errorSchema.parse(bare)).toEqual({ error: { code: "usage", message: "no", hint: null } });
  const detailed = encodeError(new CodecellError("policy_refused", "no", { hint: "do", details: { rule: "net" } }));
  expect(errorSchema.parse(detailed)).toEqual({
    error: { code: "policy_refused", message: "no", hint: "do", details: { rule: "net" } },
  });
});

test("every object of the wire format has a JSON Schema that forbids unknown fields", () => {
  const { $defs } = wireJsonSchema() as { $defs: Record<string, { additionalProperties?: boolean; oneOf?: unknown }> };
  expect(Object.keys($defs)).toEqual(wireNames);
  for (const [name, schema] of Object.entries($defs)) {
    if (name !== "run_event") expect([name, schema.additionalProperties]).toEqual([name, false]);
  }
  expect(wireJsonSchema("run")).toMatchObject({ title: "codecell run", type: "object" });
});
