import { expect, test } from "vitest";
import { type GuestReport, reportLine } from "./guest/report.ts";
import { GuestLog } from "./guest-log.ts";

const refused: GuestReport = { report: "snapshot_refused", reason: "bad magic – ünicode" };

function read(...chunks: readonly Buffer[]): { reports: GuestReport[]; text: string } {
  const reports: GuestReport[] = [];
  const log = new GuestLog((report) => reports.push(report));
  for (const chunk of chunks) log.push(chunk);
  return { reports, text: log.text };
}

test("a report is read between lines for people", () => {
  const { reports, text } = read(Buffer.from(`(node:1) warning\n${reportLine(refused)}FATAL ERROR: out of memory\n`));
  expect(reports).toEqual([refused]);
  expect(text).toContain("FATAL ERROR: out of memory");
});

test("a report is read when it arrives byte by byte", () => {
  const bytes = Buffer.from(reportLine(refused));
  expect(read(...[...bytes].map((byte) => Buffer.from([byte]))).reports).toEqual([refused]);
});

test("a report with the longest reason is read, and the reason is truncated", () => {
  const { reports } = read(Buffer.from(reportLine({ ...refused, reason: "\u0001".repeat(5000) })));
  expect(reports).toEqual([{ ...refused, reason: "\u0001".repeat(1000) }]);
});

test("text that only mentions a refused snapshot is no report", () => {
  const lines = ["snapshot refused: no", '"snapshot_refused"', '{"report":"other"}', '{"report":', "{}"];
  expect(read(Buffer.from(`${lines.join("\n")}\n`)).reports).toEqual([]);
});

test("the log keeps the beginning of a guest that writes without end", () => {
  const flood = Buffer.alloc(100_000, "x");
  expect(read(Buffer.from("first line\n"), flood, flood).text).toMatch(/^first line\nx+$/);
  expect(read(flood, flood).text).toHaveLength(8192);
});
