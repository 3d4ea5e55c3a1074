import { readTrajectory } from "../../rlm/trajectory/reader.ts";
import { type RunNode, type TurnNode, trajectoryTree } from "../../rlm/trajectory/tree.ts";
import { countText, moneyText } from "../../rlm/view/numbers.ts";

const shown = { code: 600, output: 400, total: 12_000 } as const;

/** A trajectory in few tokens: each turn with its code, the beginning of its output, its sub-calls and its cost. */
export async function trajectoryForModel(path: string): Promise<string> {
  const { events } = await readTrajectory(path);
  const tree = trajectoryTree(events);
  if (!tree) return "Nothing is recorded yet.";
  const text = runLines(tree.root, "").join("\n");
  if (text.length <= shown.total) return text;
  const half = shown.total / 2;
  return `${text.slice(0, half)}\n… ${text.length - shown.total} characters left out …\n${text.slice(-half)}`;
}

function runLines(run: RunNode, indent: string): string[] {
  const { finish = "running", cost, start } = run;
  const facts = `${finish}, ${countText(cost.calls, "call")}, ${moneyText(cost)}`;
  const below = `${indent}  `;
  return [
    `${indent}${start.signature} (${facts})`,
    ...run.turns.filter(({ turn }) => turn > 0).flatMap((turn) => turnLines(turn, below)),
    ...(run.finished?.message === undefined ? [] : [`${below}${run.finished.message}`]),
  ];
}

function turnLines({ turn, of, code, result, calls, runs, cost }: TurnNode, indent: string): string[] {
  const sub = calls.length === 0 ? "" : `, ${countText(calls.length, "sub-call")}`;
  const block = (label: string, text: string, most: number) =>
    `${indent}${label}: ${cut(text, most).replaceAll("\n", `\n${indent}  `)}`;
  return [
    `${indent}turn ${turn}/${of}${sub}, ${moneyText(cost)}`,
    ...(code === undefined ? [] : [block("code", code, shown.code)]),
    ...(result === undefined ? [] : [block(result.status, result.output, shown.output)]),
    ...runs.flatMap((run) => runLines(run, `${indent}  `)),
  ];
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)} … (${text.length} characters)`;
}
