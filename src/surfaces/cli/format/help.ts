import type { Command } from "../command.ts";
import type { OptionTable } from "../shell/arguments.ts";
import { wrapText } from "./text/table.ts";

/** The help of one command. */
export function commandHelp(command: Command): string {
  const lines = [`${command.summary}.`, "", `Usage: ${command.usage}`, "", "Options:", ...optionLines(command.options)];
  for (const note of command.notes ?? []) lines.push("", ...note.split("\n").flatMap(noteLines));
  lines.push("", "Examples:", ...exampleLines(command.examples));
  return `${lines.join("\n")}\n`;
}

/** The help of `codecell` itself. */
export function overviewHelp(commands: readonly Pick<Command, "name" | "summary">[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = [
    "Run untrusted code under one policy file, in the strongest sandbox available on this machine.",
    "",
    "Usage: codecell COMMAND [options]",
    "",
    "Commands:",
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    "Examples:",
    ...exampleLines([
      ["codecell run -c 'print(6 * 7)'", "run one line of Python in a sandbox"],
      ["codecell repl", "open an interactive session"],
      ["codecell doctor", "which sandboxes are available on this machine"],
      ["codecell help run", "help for one command"],
    ]),
  ];
  return `${lines.join("\n")}\n`;
}

/** Indented lines belong to a list and are not wrapped. */
function noteLines(line: string): string[] {
  return line.startsWith(" ") ? [line] : wrapText(line, 100);
}

function optionLines(options: OptionTable): string[] {
  const rows = Object.entries(options).map(([name, { short, value, help }]) => {
    const flag = `${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
    return [flag, help] as const;
  });
  return alignedLines(rows);
}

function exampleLines(examples: Command["examples"]): string[] {
  return alignedLines(examples.map(([command, what]) => [command, `# ${what}`] as const));
}

function alignedLines(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
