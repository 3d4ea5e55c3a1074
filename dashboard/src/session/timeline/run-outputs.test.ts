import { expect, test } from "vitest";
import { lineText } from "../../parts/text/ansi.ts";
import { type OutputEvent, RunOutputs } from "./run-outputs.ts";

const text = (type: "stdout" | "stderr", shown: string): OutputEvent => {
  return { type, text: shown, display: null, mime_type: null, data_base64: null };
};
const form = (display: number, mime_type: string): OutputEvent => {
  return { type: "display", text: null, display, mime_type, data_base64: "" };
};

test("consecutive output of one stream is one block, and the forms of a display are together", () => {
  const outputs = new RunOutputs();
  const events = [text("stdout", "a"), text("stdout", "b\n"), text("stderr", "c"), form(1, "text/plain")];
  for (const event of [...events, form(1, "text/html"), form(2, "text/plain"), text("stdout", "d")]) outputs.add(event);
  const shown = outputs.blocks.map((block) =>
    block.kind === "text" ? `${block.stream} ${block.text.lines.map(lineText).join("|")}` : [...block.forms.keys()],
  );
  expect(shown).toEqual(["stdout ab|", "stderr c", ["text/plain", "text/html"], ["text/plain"], "stdout d"]);
  expect(outputs.printed).toContain("ab\n");
});
