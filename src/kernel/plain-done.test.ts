import { describe, expect, test } from "vitest";
import { cellMessage } from "./messages.ts";
import { plainDone } from "./plain-done.ts";

const ordinary = {
  t: "done",
  id: 3,
  status: "ok",
  state: "kept",
  stdoutBytes: 0,
  stderrBytes: 12,
  notes: [],
  exitCode: 0,
};

describe("the end of an ordinary run", () => {
  test.each([
    ordinary,
    { t: "done", id: 3, status: "ok", state: "kept" },
    { ...ordinary, result: "42" },
    { ...ordinary, exitCode: 255, status: "error" },
    { ...ordinary, cpuUs: 1_500, peakBytes: 2 ** 30 },
  ])("is taken as the schema takes it: %j", (header) => expect(plainDone(header)).toEqual(cellMessage.parse(header)));

  test("the plain done message of a branch is read without the branch", () => {
    expect(plainDone({ ...ordinary, branch: 2 })).toEqual(ordinary);
  });

  test.each([
    null,
    "done",
    { ...ordinary, t: "reply" },
    { ...ordinary, status: "crashed" },
    { ...ordinary, status: "toString" },
    { ...ordinary, state: "lost" },
    { ...ordinary, id: "3" },
    { ...ordinary, id: -1 },
    { ...ordinary, stdoutBytes: 1.5 },
    { ...ordinary, stderrBytes: Number.MAX_VALUE },
    { ...ordinary, notes: ["told"] },
    { ...ordinary, notes: { length: 0 } },
    { ...ordinary, exitCode: 256 },
    { ...ordinary, result: 42 },
    { ...ordinary, cpuUs: -1 },
    { ...ordinary, cpuUs: 0.5 },
    { ...ordinary, peakBytes: "1" },
    { ...ordinary, error: { name: "E", message: "", traceback: "" } },
    { ...ordinary, files: [] },
  ])("is left to the schema when anything about it is not: %j", (header) => {
    expect(plainDone(header)).toBeUndefined();
  });
});
