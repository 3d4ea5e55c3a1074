import { expect, test } from "vitest";
import { SafeText, safeText } from "./safe-text.ts";

const ESC = "\u001b";

test("safe text keeps plain text, newlines, tabs and carriage returns", () => {
  expect(safeText("añ\t1\r\n日本\n")).toBe("añ\t1\r\n日本\n");
  expect(safeText("\u200fשלום\u200e")).toBe("\u200fשלום\u200e");
});

test("safe text keeps colours and resets them at the end", () => {
  expect(safeText(`${ESC}[1;31mred${ESC}[0m`)).toBe(`${ESC}[1;31mred${ESC}[0m${ESC}[0m`);
});

test.each([
  ["a clipboard write", `${ESC}]52;c;cm0gLXJm\u0007`, "^[]52;c;cm0gLXJm^G"],
  ["a title", `${ESC}]0;root\u0007`, "^[]0;root^G"],
  ["a cursor movement", `${ESC}[2A`, "^[[2A"],
  ["clearing the screen", `${ESC}[2J`, "^[[2J"],
  ["a device query, which the terminal answers into the shell", `${ESC}[6n`, "^[[6n"],
  ["a device control string", `${ESC}P$q"p${ESC}\\`, '^[P$q"p^[\\'],
  ["an 8-bit sequence", "\u009b2J", "<U+009B>2J"],
  ["backspaces over earlier text", "ok\b\bno", "ok^H^Hno"],
  ["hidden text", "ok\u{e0041}\u{e0042}\u{e0100}\u200b\u2060", "ok<U+E0041><U+E0042><U+E0100><U+200B><U+2060>"],
  ["forged lines", "a\u2028b\u2029c", "a<U+2028>b<U+2029>c"],
  ["text in another order", "safe\u202eexe.gpj\u202c \u2066x\u2069", "safe<U+202E>exe.gpj<U+202C> <U+2066>x<U+2069>"],
  ["a delete", "\u007f", "^?"],
  ["a colour with too many digits", `${ESC}[${"1".repeat(40)}m`, `^[[${"1".repeat(40)}m`],
])("safe text makes %s visible", (_name, text, shown) => {
  expect(safeText(text)).toBe(shown);
});

test("safe text recognises escape sequences that arrive in pieces", () => {
  const safe = new SafeText();
  const pieces = ["a", ESC, "[3", "1mred", ESC, "]52;c;", "x"].map((piece) => safe.push(piece));
  expect(pieces.join("") + safe.end()).toBe(`a${ESC}[31mred^[]52;c;x${ESC}[0m`);
});

test("safe text shows the start of an unfinished escape sequence", () => {
  const safe = new SafeText();
  expect(safe.push(`a${ESC}[3`) + safe.end()).toBe("a^[[3");
});

test("an invisible character that arrives in two halves is made visible", () => {
  const safe = new SafeText();
  expect(safe.push("a\udb40") + safe.push("\udc41b") + safe.end()).toBe("a<U+E0041>b");
});
