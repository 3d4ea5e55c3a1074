import {
  type CallNode,
  countText,
  durationText,
  moneyText,
  type RunNode,
  type Trajectory,
  type TrajectoryTree,
  type TurnNode,
  tokensText,
} from "../../../service/rlm/trajectory-files.ts";
import { safeText } from "./text/safe-text.ts";
import type { Style } from "./text/style.ts";

export interface TrajectoryFormat {
  readonly style: Style;
  /** width of the terminal in characters */
  readonly width: number;
  /** whether to show all lines of code and output, and all sub-calls */
  readonly isFull: boolean;
}

/** One line of the tree, and what is below it. */
interface Branch {
  readonly line: string;
  readonly style?: (text: string) => string;
  readonly below?: readonly Branch[];
  /** a line of code or output: it has no mark of its own, so that it can be copied */
  readonly isText?: true;
}

const short = { codeLines: 8, outputLines: 5, calls: 4 } as const;

/** A trajectory as a tree. Everything that a model or a program wrote is made safe for a terminal. */
export function trajectoryText(
  { root, ignored }: TrajectoryTree,
  trajectory: Omit<Trajectory, "events">,
  format: TrajectoryFormat,
): string {
  const { style } = format;
  const lines = branchLines([runBranch(root, format)], "", format.width, true);
  const { problem, tornBytes, head } = trajectory;
  if (problem) lines.push(style.red(`line ${problem.line} ${problem.what}; what follows it proves nothing`));
  if (tornBytes > 0) lines.push(style.yellow(`the last line is cut off: the program that wrote it crashed`));
  if (ignored > 0) lines.push(style.yellow(`not shown: ${countText(ignored, "event")} without a run`));
  lines.push(style.dim(`${countText(head.lines, "line")}, last hash ${head.hash}`));
  return `${lines.join("\n")}\n`;
}

function runBranch(run: RunNode, format: TrajectoryFormat): Branch {
  const { style } = format;
  const { finish = "unfinished", finished, cost } = run;
  const paint = finish === "submitted" ? style.green : finish === "extracted" ? style.yellow : style.red;
  const facts = [
    durationText(run.endMs - run.startMs),
    countText(cost.calls, "call"),
    tokensText(cost),
    moneyText(cost),
  ];
  const below: Branch[] = [
    { line: oneLine(run.start.signature), style: style.dim },
    ...run.turns.map((turn) => turnBranch(turn, format)),
  ];
  if (finished?.message !== undefined) below.push({ line: oneLine(finished.message), style: style.red });
  for (const [name, value] of Object.entries(finished?.outputs ?? {})) {
    below.push({ line: `${oneLine(name)} = ${oneLine(JSON.stringify(value) ?? "")}`, style: style.bold });
  }
  return { line: `${oneLine(run.id)} ${finish} · ${facts.join(" · ")}`, style: paint, below };
}

function turnBranch(turn: TurnNode, format: TrajectoryFormat): Branch {
  const { style, isFull } = format;
  const { code, result, submits, warnings } = turn;
  const name = turn.turn === 0 ? "before the first turn" : `turn ${turn.turn}/${turn.of}`;
  const below: Branch[] = turn.replies.map((call) => callBranch(call, style));
  if (code !== undefined) {
    below.push({ line: "code", style: style.bold, below: textLines(code, isFull ? undefined : short.codeLines) });
  }
  below.push(...callBranches(turn.calls, format), ...turn.runs.map((run) => runBranch(run, format)));
  if (result) {
    const facts = `${oneLine(result.status)} · ${durationText(result.ms)} · ${countText(result.outputChars, "character")}`;
    below.push({
      line: `output ${facts}`,
      style: result.status === "ok" ? style.bold : style.red,
      below: result.output === "" ? [] : textLines(result.output, isFull ? undefined : short.outputLines),
    });
  }
  for (const { valid, errors = [] } of submits) {
    const wrong = errors.map(({ path, message }) => ({ line: `${oneLine(path)}: ${oneLine(message)}` }));
    below.push({ line: valid ? "SUBMIT" : "SUBMIT refused", style: valid ? style.green : style.red, below: wrong });
  }
  for (const { percent, kind } of warnings) {
    below.push({ line: `${percent} % of the ${oneLine(kind)} budget is used`, style: style.yellow });
  }
  return {
    line: `${name} · ${durationText(turn.endMs - turn.startMs)} · ${moneyText(turn.cost)}`,
    style: style.bold,
    below,
  };
}

/** Failed calls are always shown: they are what a reader looks for. */
function callBranches(calls: readonly CallNode[], { style, isFull }: TrajectoryFormat): Branch[] {
  if (isFull || calls.length <= short.calls) return calls.map((call) => callBranch(call, style));
  const failed = calls.filter(({ response }) => response && response.status !== "ok");
  const others = calls.filter(({ response }) => !response || response.status === "ok");
  const shown = [...others.slice(0, Math.max(1, short.calls - failed.length)), ...failed.slice(0, short.calls)];
  const more = calls.length - shown.length;
  return [
    ...shown.map((call) => callBranch(call, style)),
    ...(more > 0 ? [{ line: `… ${countText(more, "more sub-call")}`, style: style.dim }] : []),
  ];
}

function callBranch({ request, response, cost, startMs, endMs }: CallNode, style: Style): Branch {
  const state = !response
    ? " no answer"
    : response.status !== "ok"
      ? ` ${response.status}`
      : response.cached
        ? " cached"
        : "";
  const price = response?.cached ? "" : ` · ${tokensText(cost)} · ${moneyText(cost)}`;
  const answer = response === undefined || request.purpose === "root" ? "" : ` → ${oneLine(response.text)}`;
  const name = request.purpose === "extract" ? `extract ${request.model}` : request.model;
  return {
    line: `${oneLine(name)}${state} · ${durationText(endMs - startMs)}${price}${answer}`,
    ...(state === "" || state === " cached" ? {} : { style: style.red }),
  };
}

function textLines(text: string, most = Number.POSITIVE_INFINITY): Branch[] {
  const lines = text.trimEnd().split("\n");
  const hidden = lines.length - most;
  const shown = hidden > 0 ? lines.slice(0, most) : lines;
  return [
    ...shown.map((line) => ({ line: safeLine(line), isText: true as const })),
    ...(hidden > 0 ? [{ line: `… ${countText(hidden, "more line")}`, isText: true as const }] : []),
  ];
}

function branchLines(branches: readonly Branch[], indent: string, width: number, isTop = false): string[] {
  return branches.flatMap(({ line, style = (text) => text, below = [], isText }, index) => {
    const isLast = index === branches.length - 1;
    const mark = isTop ? "" : isText ? "  " : isLast ? "└─ " : "├─ ";
    const room = Math.max(20, width - indent.length - mark.length);
    const next = isTop ? indent : `${indent}${isLast ? "   " : "│  "}`;
    return [`${indent}${mark}${style(cutTo(line, room))}`, ...branchLines(below, next, width)];
  });
}

function cutTo(line: string, room: number): string {
  return line.length > room ? `${line.slice(0, room - 1).replace(/[\ud800-\udbff]$/, "")}…` : line;
}

function oneLine(text: string): string {
  return safeLine(text.replace(/\s+/g, " "));
}

/** A colour that a program prints is shown as text too: cut off in the middle, it would colour the rest of the tree. */
function safeLine(text: string): string {
  return safeText(text.replaceAll("\u001b", "^[").replaceAll("\r", "^M").replaceAll("\t", "    "));
}
