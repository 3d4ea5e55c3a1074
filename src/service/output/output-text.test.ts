import { describe, expect, test } from "vitest";
import { outputText } from "./output-text.ts";

const form = (display: number, mime: string, text: string, stdoutOffset?: number) => ({
  ...{ type: "display" as const, display, mime, data: Buffer.from(text) },
  ...(stdoutOffset === undefined ? {} : { stdoutOffset }),
});
const table = (display: number, offset: number) => [
  form(display, "text/plain", "   a\n0  1", offset),
  form(display, "text/html", "<table>", offset),
];

describe("the output text of a run", () => {
  test("has each displayed value where the program displayed it, on lines of its own", () => {
    const displays = [...table(1, 7), form(2, "text/plain", "'é'", 10)];
    expect(outputText({ stdout: "before\nin, after\n", displays, value: undefined })).toBe(
      "before\n   a\n0  1\nin,\n'é'\n after\n",
    );
  });

  test("does not repeat the value of the last expression", () => {
    const displays = [...table(1, 0), ...table(2, 0)];
    expect(outputText({ stdout: "", displays, value: "   a\n0  1" })).toBe("   a\n0  1\n");
    const plain = [form(1, "text/plain", "5", 0)];
    expect(outputText({ stdout: "", displays: plain, value: "5" })).toBe("5\n");
  });

  test("numbers images as the notes do, and names other forms without text", () => {
    const displays = [
      ...[form(1, "text/plain", "<Figure>", 2), form(1, "image/png", "PNG", 2)],
      ...[form(2, "text/html", "<b>é</b>", 2), form(3, "image/png", "PNG", 4)],
      form(4, "text/markdown", "# title"),
    ];
    expect(outputText({ stdout: "a\nb\nc\n", displays, value: undefined })).toBe(
      "a\n[image 1]\n[text/html, 9 bytes]\nb\n[image 2]\nc\n# title\n",
    );
  });

  test("stays whole if a cell numbers its displays or their places wrongly", () => {
    const displays = [form(1, "text/plain", "x", 99), form(1, "text/plain", "y", 0), form(2, "text/plain", "z", 1)];
    expect(outputText({ stdout: "abc", displays, value: undefined })).toBe("abc\nx\nz\n");
  });
});
