import type { Session } from "../../../sessions/session.ts";
import { safeText } from "../format/text/safe-text.ts";
import { replCommands } from "./repl-entry.ts";

/** What the line editor wants: texts, and the part of the line that they complete. */
export type EditorCompletions = [texts: string[], completed: string];

const indentation = "    ";
const maxListed = 100;
/** The prompt must not hang: nothing is offered if the cell takes longer. */
const patienceMs = 1000;

/** Completes the line up to the cursor. `before`: the lines of the block above it. Never rejects. */
export async function completeLine(
  line: string,
  before: readonly string[],
  session: Pick<Session, "complete"> | undefined,
): Promise<EditorCompletions> {
  if (line.trim() === "") return [[line + indentation], line];
  const command = /^\s*%(\w*)$/.exec(line)?.[1];
  if (command !== undefined) return [replCommands.filter((one) => one.startsWith(command)), command];
  const file = before.length === 0 ? /^\s*!.*?([^\s'"=]*)$/.exec(line)?.[1] : undefined;
  // In a line of bash, files can be completed, and the cell knows them after a quote.
  const code = file === undefined ? [...before, line].join("\n") : `'${file}`;
  const found = await within(patienceMs, session?.complete(code));
  if (!found) return [[], line];
  const completed = code.slice(found.start, found.end);
  return listed(
    found.matches.map(({ text }) => safeText(text)),
    completed,
  );
}

/** All texts count for what they have in common, and a screenful of them is shown. */
function listed(texts: readonly string[], completed: string): EditorCompletions {
  const common = commonStart(texts);
  if (common.length > completed.length) return [[common], completed];
  const more = texts.length - maxListed;
  return [more > 0 ? [...texts.slice(0, maxListed), `… ${more} more`] : [...texts], completed];
}

function commonStart([first = "", ...rest]: readonly string[]): string {
  let length = first.length;
  for (const text of rest) {
    while (!text.startsWith(first.slice(0, length))) length--;
  }
  return first.slice(0, length);
}

async function within<Value>(ms: number, answer: Promise<Value> | undefined): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  // A session that is busy or closed has nothing to offer. The next entry reports what is wrong with it.
  return Promise.race([answer?.catch(() => undefined), late]).finally(() => clearTimeout(timer));
}
