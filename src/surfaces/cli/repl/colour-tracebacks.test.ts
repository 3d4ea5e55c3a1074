import { expect, test } from "vitest";
import { FakeTerminal } from "../../../../test/fakes/fake-terminal.ts";
import { styleFor } from "../format/text/style.ts";
import { ColouredTracebacks, colouredTraceback } from "./colour-tracebacks.ts";

const style = styleFor({ isTTY: true }, {});
const traceback = [
  "Traceback (most recent call last):",
  '  File "<run 1>", line 3, in f',
  "    1/0",
  "    ~^~",
  "ZeroDivisionError: division by zero",
].join("\n");

test("a traceback has colours for its places, marks and error, and the same text", () => {
  const coloured = colouredTraceback(traceback, style);
  expect(coloured).toContain('File \u001b[32m"<run 1>"\u001b[39m, line \u001b[32m3\u001b[39m, in f');
  expect(coloured).toContain("\u001b[31m    ~^~\u001b[39m");
  expect(coloured).toContain("ZeroDivisionError\u001b[39m\u001b[22m: division by zero");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: removes the colours
  expect(coloured.replace(/\u001b\[\d+m/g, "")).toBe(traceback);
});

test("only the traceback of the run is coloured, and not what the program prints", () => {
  const { stderr } = new FakeTerminal({ isTTY: true });
  const output = new ColouredTracebacks(stderr, style);
  output.write(`${traceback}\n`);
  expect(stderr.text).toBe(`${traceback}\n`);
  output.expect(`${traceback}\n`);
  output.write(`\n${traceback}\n`);
  expect(stderr.text).toContain("\u001b[31m    ~^~");
});
