import { valueErrorsText } from "../signature/check-outputs.ts";
import type { ValueError } from "../signature/check-value.ts";
import type { VariableInfo } from "../trajectory/event.ts";
import type { ReplyCode } from "./code-in-reply.ts";
import type { ShownText } from "./shown-text.ts";

/** The inputs as the model sees them: type, length and a preview, never the whole value. */
export function variablesText(variables: readonly VariableInfo[]): string {
  if (variables.length === 0) return "There are no input variables.";
  return variables
    .map(({ name, type, chars, preview, description }) =>
      [
        `Variable: ${name}`,
        `Type: ${type}`,
        ...(description === undefined ? [] : [`Description: ${description}`]),
        `Length: ${chars.toLocaleString("en-US")} characters`,
        `Preview:\n${fenced(preview)}`,
      ].join("\n"),
    )
    .join("\n\n");
}

/** What the code printed. An error comes last, where a traceback says most. */
export function outputText({ text, chars }: ShownText): string {
  if (chars === 0) return "The code ran and printed nothing. Use print() to see values.";
  return `Output (${chars.toLocaleString("en-US")} chars):\n${fenced(text)}`;
}

export function noCodeText(reply: Exclude<ReplyCode, { kind: "code" }>): string {
  const what =
    reply.kind === "none"
      ? "Your reply has no code."
      : `Your reply has a block of ${JSON.stringify(reply.language.slice(0, 40))}, and only Python runs.`;
  return `[Error] ${what} Write one block of Python between \`\`\`python and \`\`\`. Call SUBMIT in it when you are done.`;
}

export const cutOffText =
  "[Error] Your reply was cut off because it reached the limit of output tokens, and its code did not run. Write a shorter block.";

export function refusedText(errors: readonly ValueError[]): string {
  return `SUBMIT was refused:\n${valueErrorsText(errors)}`;
}

export function ignoredText(count: number): string {
  return `Only your first block of Python ran. ${count === 1 ? "One more was" : `${count} more were`} ignored: write one block per reply.`;
}

export const lastTurnText =
  "This is your last turn. Call SUBMIT now with the best outputs that you have; results in variables are enough.";

/** A fence that the text cannot close. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`{3,}/g) ?? []).map(({ length }) => length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
