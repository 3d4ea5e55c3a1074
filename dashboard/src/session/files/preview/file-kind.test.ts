import { expect, test } from "vitest";
import { fileKind, hexDump, textOf } from "./file-kind.ts";

const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

test.each([
  ["a.csv", "a,b", { kind: "table", separator: "," }],
  ["a.TSV", "a\tb", { kind: "table", separator: "\t" }],
  ["a.json", "{}", { kind: "json" }],
  ["a.ipynb", "{}", { kind: "notebook" }],
  ["a.svg", "<svg onload=alert(1)>", { kind: "text" }],
  ["a.html", "<script>", { kind: "text" }],
  ["a.png", "<svg onload=alert(1)>", { kind: "text" }],
  ["a.txt", "\x89PNG\r\n\x1a\n", { kind: "image", type: "image/png" }],
  ["a", "\xff\xd8\xff\xe0", { kind: "image", type: "image/jpeg" }],
  ["a", "GIF89a", { kind: "image", type: "image/gif" }],
  ["a", "RIFF....WEBP", { kind: "image", type: "image/webp" }],
  ["a.csv", "a\0b", { kind: "binary" }],
  ["a.txt", "\xff\xfe\xfa", { kind: "binary" }],
  ["a.png", "", { kind: "empty" }],
])("%s with %j is %j", (name, head, kind) => {
  expect(fileKind(name, bytes(head))).toEqual(kind);
});

test("text may end within a character, but may not have a wrong one", () => {
  const euro = new TextEncoder().encode("1 €");
  expect(textOf(euro.subarray(0, 4))).toBe("1 ");
  expect(textOf(Uint8Array.of(0xff, 0x61, 0x61, 0x61, 0x61, 0x61))).toBeUndefined();
});

test("bytes are shown as numbers and characters", () => {
  expect(hexDump(bytes("A\x00\xffz"))).toBe(`000000  41 00 ff 7a${" ".repeat(36)}  A··z`);
  expect(hexDump(new Uint8Array(1000)).split("\n")).toHaveLength(16);
});
