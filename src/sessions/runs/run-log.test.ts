import { expect, test } from "vitest";
import type { RunEvent } from "./run.ts";
import { RunLog } from "./run-log.ts";

const bytes = 300_000;

test("a program that prints single bytes gets few events, and nothing of its output is lost or moved", async () => {
  const log = new RunLog();
  const seen: RunEvent[] = [];
  const reader = (async () => {
    for await (const { event } of log.from(0)) if (event.type !== "end") seen.push(event);
  })();
  let printed = "";
  for (let at = 0; at < bytes; at++) {
    const text = String(at % 10);
    printed += text;
    log.push({ type: "stdout", text });
    if (at % 100 === 0) await null; // the reader keeps up, so that each event has been seen when the next one comes
  }
  log.push({ type: "stderr", text: "warned" });
  log.push({ type: "display", display: 1, mime: "text/plain", data: new Uint8Array(1) });
  log.push({ type: "stdout", text: "end" });
  log.end("ok");
  await reader;
  expect(log.text("stdout")).toBe(`${printed}end`);
  expect(seen.slice(-3).map(({ type }) => type)).toEqual(["stderr", "display", "stdout"]);
  expect(log.length).toBeLessThan(1_100);
  expect(log.bytes).toBeLessThan(4 * bytes);
});

test("gathered output reaches a reader without further output", async () => {
  const log = new RunLog();
  for (let at = 0; at < 1_000; at++) log.push({ type: "stdout", text: "x" });
  log.push({ type: "stdout", text: "a" });
  log.push({ type: "stdout", text: "b" });
  const reader = log.from(1_000);
  expect((await reader.next()).value).toEqual({ offset: 1_000, event: { type: "stdout", text: "ab" } });
  log.end("ok");
});

test("what was printed before a run failed is in its log, and nothing after it", async () => {
  const log = new RunLog();
  for (let at = 0; at < 1_001; at++) log.push({ type: "stdout", text: "x" });
  log.fail(new Error("the cell is gone"));
  log.push({ type: "stdout", text: "late" });
  expect(log.text("stdout")).toBe("x".repeat(1_001));
  await expect(async () => {
    for await (const _event of log.from(0));
  }).rejects.toThrow("the cell is gone");
});
