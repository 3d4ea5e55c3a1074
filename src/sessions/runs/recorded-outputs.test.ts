import { describe, expect, test } from "vitest";
import { OutputRecorder } from "./recorded-outputs.ts";

const nothing = { value: undefined, error: undefined };

describe("OutputRecorder", () => {
  test("keeps what a run printed and displayed, in order", () => {
    const recorder = new OutputRecorder(10_000);
    const data = Buffer.from("png");
    recorder.add({ type: "stdout", text: "a" });
    recorder.add({ type: "display", display: 1, mime: "image/png", data, stdoutOffset: 1 });
    recorder.add({ type: "stderr", text: "b" });
    const error = { name: "E", message: "m", traceback: "t" };
    expect(recorder.recorded({ value: "1", error })).toEqual({
      events: [
        { type: "stdout", text: "a" },
        { type: "display", display: 1, mime: "image/png", data },
        { type: "stderr", text: "b" },
      ],
      value: "1",
      error,
      leftOutBytes: 0,
    });
  });

  test("has nothing to say about a run without outputs", () => {
    expect(new OutputRecorder(10_000).recorded(nothing)).toBeUndefined();
  });

  test("keeps the beginning of too much text, and counts the rest", () => {
    const recorder = new OutputRecorder(1_000);
    recorder.add({ type: "stdout", text: "x".repeat(5_000) });
    recorder.add({ type: "stdout", text: "end" });
    expect(recorder.recorded(nothing)).toMatchObject({
      events: [{ type: "stdout", text: "x".repeat(900) }],
      leftOutBytes: 4_103,
    });
  });

  test("leaves out a display that is too large, and keeps a smaller one after it", () => {
    const recorder = new OutputRecorder(1_000);
    const display = (number: number, bytes: number) =>
      recorder.add({ type: "display", display: number, mime: "image/png", data: new Uint8Array(bytes) });
    display(1, 2_000);
    display(2, 100);
    expect(recorder.recorded(nothing)).toMatchObject({ events: [{ display: 2 }], leftOutBytes: 2_000 });
  });

  test("a flood of tiny events stays within the limit", () => {
    const recorder = new OutputRecorder(100_000);
    for (let at = 0; at < 50_000; at++) recorder.add({ type: at % 2 ? "stdout" : "stderr", text: "x" });
    expect(recorder.bytes).toBeLessThanOrEqual(100_000);
    expect(recorder.recorded(nothing)?.events.length).toBeLessThan(1_000);
  });

  test("truncates a value and a traceback that are forged to be large", () => {
    const huge = "x".repeat(1_000_000);
    const recorded = new OutputRecorder(1_000).recorded({
      value: huge,
      error: { name: "E", message: huge, traceback: huge },
    });
    expect(JSON.stringify(recorded).length).toBeLessThan(250_000);
  });
});
