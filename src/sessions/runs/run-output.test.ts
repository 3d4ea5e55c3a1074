import { describe, expect, test } from "vitest";
import { RunLog } from "./run-log.ts";
import { leftOutLine, RunOutput } from "./run-output.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function newOutput(limit = 1000) {
  const log = new RunLog();
  return { log, output: new RunOutput(log, limit) };
}

describe("the output of a run", () => {
  test("has a line between its beginning and its end if its middle is missing", () => {
    const { output } = newOutput();
    output.receive("stdout", bytes("first\nsec"));
    output.receive("stderr", bytes("warned\n"));
    output.receive("stdout", bytes(""), 1_234_567);
    output.receive("stdout", bytes("last\n"));
    output.receive("stderr", bytes("end\n"), 5);
    expect(output.gathered()).toMatchObject({
      stdout: "first\nsec\n[... 1,234,567 bytes left out ...]\nlast\n",
      stderr: "warned\n[... 5 bytes left out ...]\nend\n",
    });
    const done = { stdoutBytes: 1_234_581, stderrBytes: 16 };
    expect(output.leftOut(done)).toEqual({ stdout: 1_234_567, stderr: 5 });
    expect(output.wasTruncated(done)).toBe(true);
  });

  test("stays within its limit, whatever a cell claims to have left out", () => {
    const { log, output } = newOutput(100);
    for (let round = 0; round < 1000; round++) output.receive("stdout", bytes("x".repeat(10)), 7);
    expect(output.gathered().stdout).toBe(`${leftOutLine(7, "bytes")}\n${"x".repeat(100)}`);
    expect(log.length).toBe(11);
    expect(leftOutLine(Number.MAX_SAFE_INTEGER, "characters").length).toBeLessThanOrEqual(62);
  });

  test("remembers after how much of stdout a value was displayed", () => {
    const { output } = newOutput();
    output.receive("stdout", bytes("é\n"));
    output.receive("stderr", bytes("warned"));
    output.receiveDisplay({ display: 1, mime: "text/plain", more: false }, bytes("5"));
    expect(output.gathered().displays).toMatchObject([{ display: 1, stdoutOffset: 2 }]);
  });

  test("is decoded like a file of UTF-8, however its bytes arrive", () => {
    const samples = [
      [0xff, 0xfe, 0x41],
      [0xe1, 0xa0, 0x41],
      [0xf0, 0x9f, 0x98],
      [0xed, 0xa0, 0x80],
      [0xef, 0xbb, 0xbf, 0x61],
    ];
    for (const sample of samples) {
      const whole = newOutput().output;
      whole.receive("stdout", Uint8Array.from(sample));
      const single = newOutput().output;
      for (const byte of sample) single.receive("stdout", Uint8Array.of(byte));
      const expected = new TextDecoder().decode(Uint8Array.from(sample));
      expect(whole.gathered().stdout).toBe(expected);
      expect(single.gathered().stdout.replace(/\ufffd+|\ufeff/g, "")).toBe(expected.replace(/\ufffd+/g, ""));
    }
  });

  test("that is not UTF-8 has one replacement character for each byte, in pieces too", () => {
    const broken = new Uint8Array(2 ** 19).fill(0xff);
    const { output } = newOutput(2 ** 19);
    for (let at = 0; at < broken.length; at += 2 ** 16) output.receive("stdout", broken.subarray(at, at + 2 ** 16));
    expect(output.gathered().stdout).toBe("\ufffd".repeat(2 ** 19));
  });
});
