import { describe, expect, test } from "vitest";
import { answeredRun, lostRun } from "./run-end.ts";

const sizes = { stdoutBytes: 3, stderrBytes: 0 };

describe("the result of a run", () => {
  test("has the fields from Python and the sizes from the supervisor", () => {
    const fields = { t: "done", id: 99, status: "ok", exitCode: 0, result: "42", stdoutBytes: 1e9, state: "recovered" };
    expect(answeredRun(7, fields, undefined, sizes)).toEqual({
      t: "done",
      id: 7,
      status: "ok",
      state: "kept",
      exitCode: 0,
      result: "42",
      notes: [],
      ...sizes,
    });
  });

  test.each(["timeout", "output_limit"] as const)(
    "is %s even if the program finishes normally after the interrupt",
    (stop) => {
      expect(answeredRun(1, { status: "ok" }, stop, sizes)).toMatchObject({ status: stop, state: "kept" });
    },
  );

  test("is the program's own status if the program swallowed the host's interrupt", () => {
    expect(answeredRun(1, { status: "ok" }, "interrupted", sizes)).toMatchObject({ status: "ok" });
    expect(answeredRun(1, { status: "interrupted" }, "interrupted", sizes)).toMatchObject({ status: "interrupted" });
  });

  test("is out_of_memory with the state kept if the interpreter's heap was full", () => {
    const fields = { status: "error", error: { name: "MemoryError", message: "", traceback: "" } };
    expect(answeredRun(1, fields, undefined, sizes)).toMatchObject({ status: "out_of_memory", state: "kept" });
  });

  test("says that the state is lost if the interpreter crashed", () => {
    expect(lostRun(1, "crashed", ["why"], sizes)).toMatchObject({ status: "crashed", state: "lost", notes: ["why"] });
  });
});
