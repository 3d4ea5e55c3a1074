import { describe, expect, test } from "vitest";
import { fakeResult } from "../../../test/fakes/fake-result.ts";
import { KeptOutput } from "./kept-output.ts";
import { renderShaped, shapeResult } from "./shape-output.ts";

const gone = expect.objectContaining({ code: "output_gone" });

describe("kept output", () => {
  test("returns every stream of a run by its handle", () => {
    const kept = new KeptOutput();
    const error = { name: "E", message: "m", traceback: "Traceback\nE: m" };
    const handle = kept.keep(fakeResult({ stdout: "out\n", stderr: "err\n", value: "[1]", error }));
    expect(handle).toMatch(/^out_[\w-]{16}$/);
    const read = (stream: "stdout" | "stderr" | "value" | "traceback") => kept.page(handle, { stream }).text;
    expect([read("stdout"), read("stderr"), read("value"), read("traceback")]).toEqual([
      "out\n",
      "err\n",
      "[1]",
      "Traceback\nE: m",
    ]);
    expect(kept.page(handle)).toMatchObject({ stream: "stdout", writtenBytes: 4, isPartial: false });
  });

  test("returns the readable text, and the raw text on request", () => {
    const kept = new KeptOutput();
    const stdout = "\u001b[31merr\u001b[0mor\r50%\r100%\n";
    const handle = kept.keep(fakeResult({ stdout }));
    expect(kept.page(handle).text).toBe("100%\n");
    expect(kept.page(handle, { form: "raw" }).text).toBe(stdout);
    expect(kept.search(handle, { pattern: "50%" }).total).toBe(0);
    expect(kept.search(handle, { pattern: "50%", form: "raw" }).total).toBe(1);
  });

  test("contains the truncated part of a shaped result at the offset in its marker", () => {
    const kept = new KeptOutput();
    const stdout = Array.from({ length: 3_000 }, (_, index) => `\u001b[32mline\u001b[0m ${index}\n`).join("");
    const result = fakeResult({ stdout });
    const handle = kept.keep(result);
    const shaped = shapeResult(result, { characters: 1_000 }, handle);
    const offset = Number(/offset (\d+)/.exec(renderShaped(shaped))?.[1]);
    const [section] = shaped.sections;
    const page = kept.page(handle, { offset, limit: section?.leftOut ?? 0 });
    expect(`${section?.head}${page.text}${section?.tail}`).toBe(
      stdout.replaceAll("\u001b[32m", "").replaceAll("\u001b[0m", ""),
    );
  });

  test("is marked as partial if the run's output limit dropped the rest", () => {
    const kept = new KeptOutput();
    const handle = kept.keep(fakeResult({ stdout: "first", stdoutBytes: 9_000_000, stderr: "all", truncated: true }));
    expect(kept.page(handle)).toMatchObject({ total: 5, writtenBytes: 9_000_000, isPartial: true });
    expect(kept.page(handle, { stream: "stderr" })).toMatchObject({ writtenBytes: 3, isPartial: false });
    expect(kept.search(handle, { pattern: "first" })).toMatchObject({ total: 1, isPartial: true });
  });

  test("counts the output of a cell that crashed before it reported a size", () => {
    const kept = new KeptOutput();
    const handle = kept.keep(fakeResult({ stdout: "printed", stdoutBytes: 0 }));
    expect(kept.page(handle)).toMatchObject({ writtenBytes: 7, isPartial: false });
  });
});

describe("kept output with limits", () => {
  test("drops the oldest run first, and reports output_gone for its handle", () => {
    const kept = new KeptOutput({ totalBytes: 50_000 });
    const handles = Array.from({ length: 10 }, () => kept.keep(fakeResult({ stdout: "x".repeat(5_000) })));
    expect(handles.map((handle) => kept.has(handle))).toEqual([...Array(6).fill(false), ...Array(4).fill(true)]);
    expect(() => kept.page(handles[0] ?? "")).toThrow(gone);
    expect(() => kept.search(handles[0] ?? "", { pattern: "x" })).toThrow(gone);
    expect(kept.page(handles[9] ?? "").total).toBe(5_000);
  });

  test("counts the raw and the readable text", () => {
    const bold = new KeptOutput();
    bold.keep(fakeResult({ stdout: "\u001b[1mx".repeat(1_000) }));
    expect(bold.bytes).toBe(2 * (5_000 + 1_000) + 1024);
    const kept = new KeptOutput({ totalBytes: 100_000 });
    for (let round = 0; round < 100; round++) {
      kept.keep(fakeResult({ stdout: "\u001b[1mx".repeat(1_000), stderr: "y".repeat(round) }));
      expect(kept.bytes).toBeLessThanOrEqual(100_000);
    }
    expect(kept.bytes).toBeGreaterThan(80_000);
  });

  test("keeps the beginning and the end of a run's large stream and all of its small streams", () => {
    const kept = new KeptOutput({ runBytes: 20_000 });
    const handle = kept.keep(fakeResult({ stdout: `${"👍".repeat(100_000)}end`, stderr: "small" }));
    expect(kept.bytes).toBeLessThan(25_000);
    const page = kept.page(handle, { limit: 100_000 });
    expect(page).toMatchObject({ isPartial: true, writtenBytes: 400_003 });
    const parts = /^((?:👍)+)\n\[\.\.\. ([\d,]+) characters left out \.\.\.\]\n((?:👍)+end)$/u.exec(page.text);
    const [, head = "", leftOut = "", tail = ""] = parts ?? [];
    expect(head.length + tail.length + Number(leftOut.replaceAll(",", ""))).toBe(200_003);
    expect(Math.abs(head.length - tail.length)).toBeLessThan(5);
    expect(page.total).toBeGreaterThan(9_000);
    expect(kept.page(handle, { stream: "stderr" })).toMatchObject({ text: "small", isPartial: false });
  });

  test("can drop a run, and dropping it twice is safe", () => {
    const kept = new KeptOutput();
    const handle = kept.keep(fakeResult({ stdout: "x" }));
    kept.drop(handle);
    kept.drop(handle);
    expect(kept.bytes).toBe(0);
    expect(() => kept.page(handle)).toThrow(gone);
  });

  test("truncates an unknown handle in the error message", () => {
    const error = (() => {
      try {
        return new KeptOutput().page("x\n".repeat(10_000));
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(String(error).length).toBeLessThan(250);
    expect(String(error)).not.toContain("\n");
  });
});
