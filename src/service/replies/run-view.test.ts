import { expect, test } from "vitest";
import { fakeResult } from "../../../test/fakes/fake-result.ts";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { toolsOf } from "../tools/toolset.ts";
import { reportRun } from "./run-view.ts";

const policy = parsePolicy({});
const error = (name: string, message: string) => ({ name, message, traceback: "" });

test("the report of a run has the status first, and says what to do about output that is too long", () => {
  expect(reportRun(fakeResult({ value: "42" }), { policy }).text).toBe("status: ok · 12 ms\n[value]\n42");
  const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}`).join("\n");
  const { text } = reportRun(fakeResult({ stdout: lines }), { policy });
  expect(text).toMatch(/^status: ok .*\n\[notes\]\n- the output is too long to show in full: .*a file/);
  expect(text).toMatch(/characters left out …/);
  expect(text.length).toBeLessThan(8_000);
});

test("the report of a run names no tool, because the model has only the one that ran it", () => {
  const artifacts = Array.from({ length: 30 }, (_, index) => {
    return { name: `${index}.txt`, size: 1, mimeType: "text/plain", sha256: "00", modifiedMs: 0 };
  });
  const results = [
    fakeResult({ artifacts }),
    fakeResult({ status: "timeout", durationMs: 1_000 }),
    fakeResult({ status: "error", error: error("URLError", "Name or service not known") }),
    fakeResult({ id: 2, status: "error", error: error("FileNotFoundError", "No such file: '/home/me/a.csv'") }),
    fakeResult({ stdout: "x y z\n".repeat(9) + Array.from({ length: 9_000 }, (_, n) => `${n}\n`).join("") }),
  ];
  const text = results.map((result) => reportRun(result, { policy }).text).join("\n");
  for (const said of [
    "pass a longer timeout up to 30",
    "there is no network",
    "are not visible here",
    "5 more files",
  ]) {
    expect(text).toContain(said);
  }
  const names = toolsOf("all", { hasModel: true }).map(({ name }) => name);
  expect(names.filter((name) => text.includes(name))).toEqual([]);
  expect(text).not.toMatch(/session_id|wait=/);
});

test("the report of a run says how many files it leaves out, and a hook is never hidden behind other names", () => {
  const leftOut = Array.from({ length: 100 }, (_, n) => {
    return { name: `.env${n}`, reason: "refused" as const, message: `.env${n} is denied by .env*` };
  });
  const { text } = reportRun(fakeResult({ leftOut, notes: ["a hook was written"] }), { policy });
  expect(text).toMatch(/\n- a hook was written\n/);
  expect(text).toMatch(/\n- 82 more changed files are not artifacts$/m);
});
