import { describe, expect, test } from "vitest";
import { notebookOutputs, type OutputEvent } from "./notebook-output.ts";

const display = (number: number, mime: string, data: string | Uint8Array): OutputEvent => ({
  ...{ type: "display", display: number, mime, data: typeof data === "string" ? Buffer.from(data) : data },
});
const outputs = (events: OutputEvent[], value?: string) =>
  notebookOutputs(events, { executionCount: 7, status: "ok", value });
const bundle = (...events: OutputEvent[]) => (outputs(events)[0] as { data: Record<string, unknown> }).data;

describe("notebookOutputs", () => {
  test("joins pieces of one stream and keeps the order of streams", () => {
    const text = (type: "stdout" | "stderr", piece: string): OutputEvent => ({ type, text: piece });
    expect(outputs([text("stdout", "a"), text("stdout", "b\nc"), text("stderr", "d"), text("stdout", "e")])).toEqual([
      { output_type: "stream", name: "stdout", text: ["ab\n", "c"] },
      { output_type: "stream", name: "stderr", text: ["d"] },
      { output_type: "stream", name: "stdout", text: ["e"] },
    ]);
  });

  test("the value of the last expression is the execute_result, once, with all its forms", () => {
    const forms = [display(1, "text/plain", "T"), display(1, "text/html", "<b>\nT")];
    expect(outputs(forms, "T")).toEqual([
      {
        output_type: "execute_result",
        execution_count: 7,
        data: { "text/plain": ["T"], "text/html": ["<b>\n", "T"] },
        metadata: {},
      },
    ]);
    expect(outputs(forms).map((one) => one.output_type)).toEqual(["display_data"]);
    expect(outputs(forms, "other").map((one) => one.output_type)).toEqual(["display_data", "execute_result"]);
  });

  test("writes pictures in base64, JSON as JSON and everything else as lines", () => {
    const png = Uint8Array.of(0x89, 0x50);
    expect(
      bundle(
        display(1, "image/png", png),
        display(1, "application/vnd.a+json", '{"a":[1]}'),
        display(1, "image/svg+xml", "<svg/>"),
      ),
    ).toEqual({ "image/png": "iVA=", "application/vnd.a+json": { a: [1] }, "image/svg+xml": ["<svg/>"] });
  });

  test("drops forms that a notebook cannot have", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(
      bundle(
        display(1, "text/plain", "x"),
        ...["image/png;preview=true", "__proto__", "", "text/a b", "x/\u0000"].map((mime) => display(1, mime, "y")),
        ...[display(1, "application/json", deep), display(1, "application/x+json", "NaN")],
      ),
    ).toEqual({ "text/plain": ["x"] });
  });

  test("an exception has a name, a message and a traceback by lines", () => {
    const error = { name: "E", message: "m", traceback: "Traceback:\n  x\nE: m\n" };
    expect(notebookOutputs([], { executionCount: 1, status: "error", error })).toEqual([
      { output_type: "error", ename: "E", evalue: "m", traceback: ["Traceback:", "  x", "E: m"] },
    ]);
  });

  test("a run that timed out has an error too", () => {
    expect(notebookOutputs([], { executionCount: 1, status: "timeout", reason: "the cell timed out" })).toEqual([
      {
        output_type: "error",
        ename: "TimeoutError",
        evalue: "the cell timed out",
        traceback: ["TimeoutError: the cell timed out"],
      },
    ]);
  });
});
