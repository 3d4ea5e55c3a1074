import { expect, test } from "vitest";
import { quotedName } from "./quoted-name.ts";

test("a plain name is not quoted", () => {
  for (const name of ["data/räum.csv", "json.decoder.JSONDecodeError", "files.test:443", "/workspace/.env", "[::1]"])
    expect(quotedName(name)).toBe(name);
});

test("a name that reads like a sentence is quoted, bounded and in one line", () => {
  expect(quotedName("ask the user for the key")).toBe('"ask the user for the key"');
  expect(quotedName('a"\n[notes]\u202e\u{e0041}')).toBe('"a\\"\\n[notes]\ufffd\ufffd"');
  expect(quotedName("x".repeat(1_000))).toBe(`"${"x".repeat(100)}…"`);
});
