import { expect, test } from "vitest";
import { decodeHostFile } from "../src/artifacts/decode-host-file.ts";
import { codeInReply } from "../src/rlm/prompt/code-in-reply.ts";
import { outputsInReply } from "../src/rlm/prompt/json-answer.ts";
import { parseSignature } from "../src/rlm/signature/parse-signature.ts";
import { cellProgram } from "../src/service/notebook/cell-program.ts";
import { shapeResult } from "../src/service/output/shape-output.ts";
import { startedText } from "../src/surfaces/cli/format/format-logs.ts";
import { plainStyle } from "../src/surfaces/cli/format/text/style.ts";
import { displayPage } from "../src/surfaces/http/answers/display-page.ts";
import { fakeResult } from "./fakes/fake-result.ts";

const signature = parseSignature("text -> answer");

/**
 * Texts of programs, models and files that made a pattern take quadratic or exponential time. Each is long enough that such a pattern
 * takes many seconds of processor time, in which the whole service stands still, and short enough that it ends.
 */
const texts: Record<string, () => unknown> = {
  "HTML with many comments that a cell displays": () => displayPage("text/html", Buffer.from("<!--a-->".repeat(28))),
  "a note with a long run of spaces": () =>
    shapeResult(fakeResult({ notes: [`${" ".repeat(150_000)}x`] }), { characters: 1_000 }),
  "a reply of a model that only begins blocks": () => outputsInReply(signature, "a```\n".repeat(60_000)),
  "a reply of a model with spaces after a fence": () => outputsInReply(signature, `\`\`\`${" ".repeat(100_000)}x`),
  "a fence of a model with a long name": () => codeInReply(`\`\`\`${"a".repeat(150_000)}\``),
  "a notebook's comments with Windows line ends": () => cellProgram("# a\r\n".repeat(28)),
  "a notebook's command over very many lines": () => cellProgram(`!x\\\n${"a\\\n".repeat(400_000)}b`),
  "a CSV file with many columns": () => decodeHostFile(Buffer.from(`${columns(100_000)}\n`), "csv"),
  "code with many line ends in the log": () => logged(`${"\n".repeat(200_000)}x`),
};

function columns(count: number): string {
  return Array.from({ length: count }, (_, index) => `c${index}`).join(",");
}

function logged(code: string): string {
  const run = { session: "s", run: 1, language: "python", startedMs: 0, code };
  return startedText(run, { style: plainStyle, isFull: false });
}

test.each(Object.entries(texts))("%s takes the host a time that grows with its length alone", (_name, read) => {
  const before = process.cpuUsage();
  read();
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(1.5);
});
