import type { Session } from "../../../sessions/session.ts";
import { safeText } from "../format/text/safe-text.ts";
import type { Style } from "../format/text/style.ts";

type Inspection = NonNullable<Awaited<ReturnType<Session["inspect"]>>>;

const maxLines = 100;

/** What `x?` prints, in the order of IPython. Every text comes from the cell. */
export function inspectionText(facts: Inspection, style: Style, withSource: boolean): string {
  const rows: [string, string | undefined][] = [
    ["Signature", facts.signature],
    ["Type", facts.type],
    ["Value", facts.value],
    ["Length", facts.length],
    ["File", facts.file],
    // the source has the docstring
    ["Docstring", withSource && facts.source !== undefined ? undefined : facts.doc],
    ["Source", facts.source],
  ];
  const lines = rows.flatMap(([title, text]) => (text === undefined ? [] : row(title, text, style)));
  if (withSource && facts.source === undefined) lines.push(style.dim("its source code is not available"));
  if (facts.truncated) lines.push(style.dim(`truncated; help(${facts.name}) prints all of its documentation`));
  return `${lines.join("\n")}\n`;
}

function row(title: string, text: string, style: Style): string[] {
  const lines = safeText(text).split("\n");
  const heading = style.green(`${title}:`);
  if (lines.length === 1) return [`${heading}${" ".repeat(Math.max(1, 11 - title.length))}${lines[0]}`];
  const more = lines.length - maxLines;
  const shown = more > 0 ? [...lines.slice(0, maxLines), style.dim(`… ${more} more lines`)] : lines;
  return [heading, ...shown];
}
