import { describe, expect, test } from "vitest";
import { createTail, OutputTail, tailBytes, wholeCharacters } from "./output-tail.ts";
import { recordKinds } from "./ring.ts";

const { stdout, stderr } = recordKinds;
const bytes = (text: string) => new TextEncoder().encode(text);
const textOf = (tail: OutputTail, limit: number) =>
  tail.parts(limit).map((part) => [part.stream, part.skipped, Buffer.from(part.bytes).toString()]);

describe("the end of a run's output", () => {
  test("is kept whole within the limit of both streams together", () => {
    const tail = new OutputTail(createTail());
    for (const [kind, text] of [
      [stdout, "one"],
      [stderr, "warned"],
      [stdout, " two"],
    ] as const) {
      tail.add(kind, bytes(text));
    }
    expect(textOf(tail, 13)).toEqual([
      ["stdout", 0, "one two"],
      ["stderr", 0, "warned"],
    ]);
    tail.begin();
    expect(textOf(tail, 13)).toEqual([]);
  });

  test("loses the oldest bytes of the longer stream, with room for the line that says so", () => {
    const tail = new OutputTail(createTail());
    tail.add(stderr, bytes("warned"));
    for (let n = 0; n < 1000; n++) tail.add(stdout, bytes(`line ${n}\n`));
    const [out, err] = textOf(tail, 256);
    expect(err).toEqual(["stderr", 0, "warned"]);
    expect(out?.[2]).toMatch(/998\nline 999\n$/);
    expect(String(out?.[2]).length).toBe(256 - 128 - 6);
    expect(Number(out?.[1]) + String(out?.[2]).length).toBe(8890);
  });

  test("is right when the memory wraps around, in pieces of any size", () => {
    const tail = new OutputTail(createTail());
    const most = tailBytes(Number.MAX_SAFE_INTEGER);
    let all = "";
    for (const size of [most - 7, 1, 20, most + 3, 5, 3 * most, 11]) {
      const piece = Array.from({ length: size }, (_, n) => "abcdefghij"[(n + size) % 10]).join("");
      all += piece;
      tail.add(stdout, bytes(piece));
      const [part] = tail.parts(most);
      const kept = Buffer.from(part?.bytes ?? []).toString();
      expect(all.endsWith(kept)).toBe(true);
      expect(kept.length).toBe(all.length <= most ? all.length : most - 64);
      expect(part?.skipped).toBe(all.length - kept.length);
    }
  });

  test("starts with a whole character, and so the beginning ends with one", () => {
    const tail = new OutputTail(createTail());
    tail.add(stdout, bytes("漢".repeat(100)));
    for (const limit of [100, 101, 102]) {
      const [part] = tail.parts(limit);
      expect(Buffer.from(part?.bytes ?? []).toString()).toBe("漢".repeat(Math.floor((limit - 64) / 3)));
      expect((part?.skipped ?? 0) + (part?.bytes.length ?? 0)).toBe(300);
    }
    expect([3, 4, 5, 6].map((size) => wholeCharacters(bytes("a漢字b"), size))).toEqual([1, 4, 4, 4]);
    expect(wholeCharacters(new Uint8Array(9).fill(0x80), 5)).toBe(5);
  });

  test("is nothing but a count where nothing is kept", () => {
    const tail = new OutputTail(createTail());
    tail.add(stdout, bytes("x"));
    expect(textOf(tail, 0)).toEqual([["stdout", 1, ""]]);
  });
});
