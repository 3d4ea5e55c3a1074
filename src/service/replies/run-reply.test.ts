import { expect, test } from "vitest";
import { fakeResult } from "../../../test/fakes/fake-result.ts";
import { smallPng } from "../../../test/fakes/small-png.ts";
import { Sandbox } from "../sandbox.ts";
import { toolRunSchema } from "../wire/tool-run.ts";
import { endedReply } from "./run-reply.ts";

const identity = { runId: "run_1", sessionId: "s-1", runner: "wasm", notes: [] };
const newSandbox = () =>
  new Sandbox({ projectDir: "/nowhere", open: () => Promise.reject(new Error("nothing is opened here")) });

test("a run reply has the same content as facts and as text", () => {
  const { facts, text } = endedReply(fakeResult({ stdout: "hello\n", value: "42" }), identity, newSandbox());
  expect(toolRunSchema.parse(facts)).toEqual(facts);
  expect(facts).toMatchObject({ status: "ok", stdout: "hello\n", value: "42", session_id: "s-1", run_id: "run_1" });
  for (const part of ["status: ok", "hello", "42", "s-1", "run_1"]) expect(text).toContain(part);
});

test("a run reply has the error separate from its traceback", () => {
  const error = { name: "ValueError", message: "no", traceback: "Traceback\n  line 1\nValueError: no" };
  const { facts } = endedReply(fakeResult({ status: "error", error }), identity, newSandbox());
  expect(facts.error).toEqual({ type: "ValueError", message: "no", traceback: "Traceback\n  line 1" });
});

test("a run reply truncates long output, and the same handle reads all of it every time", () => {
  const sandbox = newSandbox();
  const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}`).join("\n");
  const result = fakeResult({ stdout: lines });
  const { facts, text = "" } = endedReply(result, identity, sandbox);
  expect(facts.truncated).toBe(true);
  expect(facts.stdout.length).toBeLessThan(17_000);
  expect(text.length).toBeLessThan(18_000);
  expect(sandbox.kept.page(facts.output_handle ?? "", { offset: 0, limit: 6 }).text).toBe("line 0");
  expect(endedReply(result, identity, sandbox).facts.output_handle).toBe(facts.output_handle);
});

test("a run reply lists 25 artifacts and notes how many more there are", () => {
  const artifacts = Array.from({ length: 30 }, (_, index) => {
    return { name: `${index}.txt`, size: 1, mimeType: "text/plain", sha256: "00", modifiedMs: 0 };
  });
  const { facts, more } = endedReply(fakeResult({ artifacts }), identity, newSandbox());
  expect([facts.artifacts.length, more?.length]).toEqual([25, 25]);
  expect(facts.notes).toEqual(["5 more files were written; list_artifacts lists them"]);
});

test("a run reply links every artifact and shows every image", () => {
  const artifact = { name: "out/ä b.csv", size: 3, mimeType: "text/csv", sha256: "00", modifiedMs: 0 };
  const display = { type: "display" as const, display: 1, mime: "image/png", data: smallPng() };
  const result = fakeResult({ artifacts: [artifact], displays: [display] });
  const { facts, more = [] } = endedReply(result, identity, newSandbox());
  expect(more.map(({ type }) => type)).toEqual(["image", "resource_link"]);
  expect(facts.images).toBe(1);
  expect(facts.artifacts[0]?.uri).toBe("codecell://sessions/s-1/artifacts/out%2F%C3%A4%20b.csv");
});
