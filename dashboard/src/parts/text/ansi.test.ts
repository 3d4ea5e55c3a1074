import { expect, test } from "vitest";
import { AnsiText, ansiLines, lineText } from "./ansi.ts";

const texts = (text: string) => ansiLines(text).map(lineText);
const pieces = (text: string) =>
  ansiLines(text)
    .flat()
    .map(({ text: shown, style: { classes, color, background } }) => [shown, color ?? background ?? classes]);

test("the sixteen colours, bold and underline become classes, and a reset ends them", () => {
  expect(pieces("a\x1b[31mred\x1b[0m b")).toEqual([
    ["a", ""],
    ["red", "fg-1"],
    [" b", ""],
  ]);
  expect(pieces("\x1b[1;4;97;41mx\x1b[22;24my\x1b[39;49mz\x1b[m")).toEqual([
    ["x", "bold underline fg-15 bg-1"],
    ["y", "fg-15 bg-1"],
    ["z", ""],
  ]);
});

test.each([
  ["38;5;9", "fg-9"],
  ["48;5;9", "bg-9"],
  ["38;5;208", "#ff8700"],
  ["38;5;244", "#808080"],
  ["48;2;1;2;255", "#0102ff"],
  ["38:2:1:2:3", "#010203"],
  ["38;5;256", ""],
  ["38;2;1;2", ""],
  ["38", ""],
  ["999", ""],
  ["7;31", "bg-1 on-colour"],
  ["7", "inverse"],
])("the colour %s is %s", (parameters, shown) => {
  const [[, look] = []] = pieces(`\x1b[${parameters}mx`);
  expect(String(look).split(" ").sort().join(" ")).toBe(shown);
});

test("a colour continues on the next line", () => {
  expect(ansiLines("\x1b[32ma\nb").map(([piece]) => piece?.style.classes)).toEqual(["fg-2", "fg-2"]);
});

test.each([
  ["a title", "\x1b]0;title\x07x"],
  ["a link", "\x1b]8;;http://evil.example\x1b\\x\x1b]8;;\x1b\\"],
  ["data for the terminal", "\x1bPq#0\x1b\\x"],
  ["cursor movement", "\x1b[2J\x1b[10;10Hx\x1b[?25l"],
  ["a character set", "\x1b(Bx\x1b="],
  ["a bell, a null and C1", "\x07\x00x\x9b\x85"],
  ["a private sequence", "\x1b[>4;2mx"],
])("%s is dropped", (_name, text) => {
  expect(texts(text)).toEqual(["x"]);
});

test("a carriage return overwrites, and a line that is complete stays", () => {
  expect(texts("10%\r100%\r\ndone")).toEqual(["100%", "done"]);
  expect(texts("abcdef\rXY")).toEqual(["XYcdef"]);
  expect(texts("abc\b\bX")).toEqual(["aXc"]);
  expect(texts("\b\bx")).toEqual(["x"]);
});

test("overwriting keeps the colours of the rest", () => {
  expect(pieces("\x1b[31mabcd\r\x1b[0mX")).toEqual([
    ["X", ""],
    ["bcd", "fg-1"],
  ]);
});

test("erase in line works as progress bars need it", () => {
  expect(texts("long text\r\x1b[Kok")).toEqual(["ok"]);
  expect(texts("long text\x1b[2K\rok")).toEqual(["ok"]);
  expect(texts("abcdef\r\x1b[3Cx")).toEqual(["xbcdef"]);
});

test("a sequence may arrive in pieces", () => {
  const whole = "\x1b[1;31mred\x1b[0m\x1b]0;title\x07 \x1b(Bplain\r\nnext";
  for (let cut = 1; cut < whole.length; cut++) {
    const text = new AnsiText().write(whole.slice(0, cut)).write(whole.slice(cut));
    expect(text.lines).toEqual(ansiLines(whole));
  }
});

test("a sequence without an end does not hide the rest for ever", () => {
  const text = new AnsiText().write("\x1b]0;never ends");
  text.write("x".repeat(5000));
  expect(lineText(text.lines[0] ?? [])).toContain("never ends");
});

test("the number of lines is bounded: the first and the last are kept", () => {
  const text = new AnsiText({ lines: 100 });
  for (let line = 0; line < 1000; line++) text.write(`${line}\n`);
  expect(text.lines.length).toBeLessThanOrEqual(100);
  expect(lineText(text.lines[0] ?? [])).toBe("0");
  expect(lineText(text.lines.at(-2) ?? [])).toBe("999");
  expect(text.droppedLines + text.lines.length).toBe(1001);
});

test("the length of a line is bounded", () => {
  const text = new AnsiText({ lineCharacters: 10 }).write("x".repeat(25)).write("\nnext");
  expect(text.lines.map(lineText)).toEqual(["x".repeat(10), "next"]);
  expect(text.droppedCharacters).toBe(15);
});

test("a megabyte of hostile output does not block the page for long", () => {
  const started = performance.now();
  ansiLines("\x1b[".repeat(250_000));
  ansiLines("a\r".repeat(250_000));
  ansiLines("\x1b[31m\x1b[32mab\b".repeat(60_000));
  expect(performance.now() - started).toBeLessThan(5_000);
});

test.each([
  ["beginnings of titles", "\x1b]".repeat(500_000)],
  ["beginnings of data", "\x1bP0".repeat(300_000)],
  [
    "a colourful line that is overwritten",
    `${"\x1b[31mx\x1b[32my".repeat(250)}${"\r\x1b[33mz\x1b[34m".repeat(80_000)}`,
  ],
  ["a long line that is overwritten", "y".repeat(10_000) + "\ra".repeat(500_000)],
  ["a line that is erased", `${"\x1b[31mx\x1b[32my".repeat(250)}${"\x1b[1K".repeat(250_000)}`],
])("a megabyte of %s takes no minute", { timeout: 3_000 }, (_what, text) => {
  const started = performance.now();
  ansiLines(text);
  expect(performance.now() - started).toBeLessThan(2_500);
});

test("a title ends at the next escape, and an end that arrives later still counts", () => {
  expect(texts("a\x1b]0;title\x1b[31mb")).toEqual(["ab"]);
  expect(new AnsiText().write("a\x1b]0;title\x1b").write("\\b").lines.map(lineText)).toEqual(["ab"]);
});
