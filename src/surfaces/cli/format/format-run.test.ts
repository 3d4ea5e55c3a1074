import { expect, test } from "vitest";
import type { RunResult } from "../../../sessions/runs/run.ts";
import { resultRemarks } from "./format-run.ts";

test("a note that repeats how the run ended is not printed twice", () => {
  const notes = ["The interpreter crashed.", "Its variables are as they were after run 1."];
  const result = { status: "crashed", state: "recovered", notes, truncated: false } as unknown as RunResult;
  expect(resultRemarks(result, { hasNext: true })).toEqual(["the interpreter crashed", notes[1]]);
});
