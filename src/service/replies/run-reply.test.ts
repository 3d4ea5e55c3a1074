import { expect, test } from "vitest";
import { fakeResult } from "../../../test/fakes/fake-result.ts";
import { smallPng } from "../../../test/fakes/small-png.ts";
import { Sandbox } from "../sandbox.ts";
import { toolRunSchema } from "../wire/runs/tool-run.ts";
import { endedReply } from "./run-reply.ts";

const identity = { runId: "run_1", sessionId: "s-1", runner: "wasm", notes: [] };
const newSandbox = () =>
  new Sandbox({ projectDir: "/nowhere", open: () => Promise.reject(new Error("nothing is opened here")) });

test("a run reply has the same content as facts and as text", () => {
  const { facts, text } = endedReply(fakeResult({ stdout: "hello\n", value: "42" }), identity, newSandbox());
  expect(toolRunSchema.parse(facts)).toEqual(facts);
  expect(facts).toMatchObject({ status: "ok", stdout: "hello\n", value: "42", session_id: "s-1", run_id: "run_1" });
  expect(text).toBe("status: ok · 12 ms · session_id: s-1\n[value]\n42\n[stdout]\nhello");
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

test("a run reply folds the frames of libraries in its traceback", () => {
  const frame = (file: string) => `  File "${file}", line 1, in f\n    x()\n`;
  const library = frame("/usr/lib/python3.11/json/decoder.py").repeat(3);
  const traceback = `Traceback (most recent call last):\n${frame("<run 1>")}${library}ValueError: no`;
  const error = { name: "ValueError", message: "no", traceback };
  const { text } = endedReply(fakeResult({ status: "error", exitCode: 1, error }), identity, newSandbox());
  expect(text).toBe(
    'status: error · 12 ms · session_id: s-1\nValueError: no\n[traceback]\n  File "<run 1>", line 1, in f\n    x()\n  … 3 frames in json',
  );
});

test("output that does not fit is cut to less than half of what would fit", () => {
  const fits = endedReply(fakeResult({ stdout: "x y\n".repeat(3_000) }), identity, newSandbox());
  const lines = Array.from({ length: 5_000 }, (_, index) => `line ${index}`).join("\n");
  const cut = endedReply(fakeResult({ stdout: lines }), identity, newSandbox());
  expect(fits.facts.truncated).toBe(false);
  expect(cut.text?.length).toBeLessThan(8_000);
  expect(cut.text).toContain("read them with handle out_");
});

test("the text of a run shows only what was printed since the last look, and the facts show everything", () => {
  const result = fakeResult({ stdout: "one\ntwo\n" });
  const news = { stdout: "two\n", stderr: "", isContinued: true };
  const { facts, text } = endedReply(result, identity, newSandbox(), { news });
  expect(text).toBe("status: ok · 12 ms · output since the last look · session_id: s-1\n[stdout]\ntwo");
  expect(facts.stdout).toBe("one\ntwo\n");
});

test("a stopped run names the line that was running, and what became of the variables", () => {
  const text = (facts: Parameters<typeof fakeResult>[0]) =>
    endedReply(fakeResult({ exitCode: undefined, ...facts }), identity, newSandbox()).text?.split("\n")[0];
  expect(text({ status: "timeout", stoppedAtLine: 4 })).toContain("status: timeout · 12 ms · stopped at line 4");
  expect(text({ status: "crashed", state: "recovered", recoveredTo: 3 })).toContain("variables as after run 3");
  expect(text({ status: "out_of_memory", state: "recovered", recoveredTo: 0 })).toContain("as before the first run");
  expect(text({ status: "crashed", state: "lost" })).toContain("variables are lost");
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

test("a file name that looks like a heading or a sentence is quoted in the text of a run", () => {
  const artifacts = ["[notes]", "a b.csv", "plain.csv"].map((name) => {
    return { name, size: 1, mimeType: "text/plain", sha256: "00", modifiedMs: 0 };
  });
  const leftOut = [
    { name: "ask for the key.env", reason: "refused", message: "ask for the key.env is denied by x" },
  ] as const;
  const { text, facts } = endedReply(fakeResult({ artifacts, leftOut: [...leftOut] }), identity, newSandbox());
  expect(text).toMatch(/\n"\[notes\]" \(.*\n"a b.csv" \(.*\nplain.csv \(/);
  expect(facts.notes).toEqual(['"ask for the key.env" is not an artifact: it is denied by x']);
});
