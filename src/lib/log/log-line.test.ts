import { expect, test } from "vitest";
import { CodecellError } from "../errors.ts";
import { type LogEntry, logLine } from "./log-line.ts";

const entry = (message: string, facts: Record<string, unknown> = {}): LogEntry => ({
  ...{ timeMs: Date.UTC(2026, 0, 31, 12), level: "warn", message, facts },
});

test("a log message is one JSON object with time, level and fields", () => {
  const error = new CodecellError("runner_unavailable", "no such thing", { cause: new Error("ENOENT") });
  expect(JSON.parse(logLine(entry("probe failed", { runner: "process", ms: 3, error }), "json"))).toEqual({
    ...{ time: "2026-01-31T12:00:00.000Z", level: "warn", message: "probe failed", runner: "process", ms: 3 },
    error: { code: "runner_unavailable", message: "no such thing", cause: { message: "ENOENT" } },
  });
});

test("a log message is one line of text for people", () => {
  expect(logLine(entry("a session was culled", { id: "s-1", why: "idle for 30m" }), "text")).toBe(
    '2026-01-31T12:00:00.000Z warn  a session was culled id=s-1 why="idle for 30m"\n',
  );
});

test("a log message cannot override time, level and message with its fields", () => {
  const line = JSON.parse(logLine(entry("true", { level: "debug", message: "forged", time: "never" }), "json"));
  expect(line).toEqual({ time: "2026-01-31T12:00:00.000Z", level: "warn", message: "true" });
});

test.each(["json", "text"] as const)("a log message cannot forge a line or control the terminal: %s", (format) => {
  const name = '\n2026-01-31T12:00:00.000Z error  forged\u001b]52;c;eA==\u0007\u009b2J\u202e"';
  const line = logLine(entry(`about ${name}`, { name, list: [name], [name]: 1 }), format);
  expect(line.indexOf("\n")).toBe(line.length - 1);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
});

test("credentials and hidden values never appear in a log line, however deep they are nested", () => {
  const hide = (text: string) => text.replaceAll("hunter2hunter2", "[env KEY]");
  const error = new Error("refused: Bearer abcdef123456 for hunter2hunter2");
  for (const format of ["json", "text"] as const) {
    const line = logLine(entry("sent Basic dXNlcjpwYXNz", { error, deep: { more: ["hunter2hunter2"] } }), format, hide);
    expect(line).not.toMatch(/hunter2|abcdef123456|dXNlcjpwYXNz/);
    expect(line).toContain("[env KEY]");
    expect(line).toContain("Bearer [hidden]");
  }
});

test("long, deep and binary values are truncated in a log line", () => {
  type Deep = { inner?: Deep };
  const deep: Deep = {};
  deep.inner = deep;
  const line = logLine(entry("x".repeat(100_000), { deep, data: Buffer.alloc(9), many: Array(1000).fill(1) }), "json");
  expect(line.length).toBeLessThan(5_000);
  expect(JSON.parse(line)).toMatchObject({ data: "9 bytes" });
});
