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

describe("plainDone", () => {
  test.each([
    ordinary,
    { t: "done", id: 3, status: "ok", state: "kept" },
    { ...ordinary, result: "42" },
    { ...ordinary, exitCode: 255, status: "error" },
    { ...ordinary, cpuUs: 1_500, peakBytes: 2 ** 30 },
  ])("reads an ordinary message exactly as the schema does: %j", (header) =>
    expect(plainDone(header)).toEqual(cellMessage.parse(header)),
  );

  test("leaves out the branch of a message", () => {
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
  ])("leaves any other message to the schema: %j", (header) => {
    expect(plainDone(header)).toBeUndefined();
  });
});
