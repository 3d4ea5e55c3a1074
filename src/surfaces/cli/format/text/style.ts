import type { Output, Terminal } from "../../shell/terminal.ts";

/** Emphasis for one output: colours on a terminal, plain text elsewhere. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

export const plainStyle: Style = { bold: same, dim: same, red: same, green: same, yellow: same };

const colourStyle: Style = {
  bold: wrap(1, 22),
  dim: wrap(2, 22),
  red: wrap(31, 39),
  green: wrap(32, 39),
  yellow: wrap(33, 39),
};

/** See https://no-color.org: any non-empty value turns colours off. */
export function styleFor(output: Pick<Output, "isTTY">, env: Terminal["env"]): Style {
  return output.isTTY && !env.NO_COLOR && env.TERM !== "dumb" ? colourStyle : plainStyle;
}

function same(text: string): string {
  return text;
}

function wrap(on: number, off: number): (text: string) => string {
  return (text) => `\u001b[${on}m${text}\u001b[${off}m`;
}
