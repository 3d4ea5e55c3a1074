import type { CallNode, RunNode, TrajectoryTree, TurnNode } from "../trajectory/tree.ts";
import { durationText, moneyText } from "./numbers.ts";

/** One bar of the timeline. */
export interface Bar {
  readonly row: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly kind: "run" | "turn" | "reply" | "code" | "sub" | "failed" | "cached";
  readonly label: string;
  /** shown when the pointer rests on it */
  readonly detail: string;
  /** the element of the page that it links to */
  readonly target: string;
}

export interface Timeline {
  readonly bars: readonly Bar[];
  readonly rows: number;
  /** bars that had no room */
  readonly dropped: number;
}

/** A page with more rows or bars than this is slow and shows nothing. */
const maxRows = 80;
const maxBars = 4000;

/** Pure: where each bar goes. What ran at the same time is drawn in rows below each other, as in a flame graph. */
export function timelineOf({ root }: TrajectoryTree): Timeline {
  const bars: Bar[] = [];
  let dropped = 0;
  for (const bar of runBlock(root).bars) {
    if (bar.row < maxRows && bars.length < maxBars) bars.push(bar);
    else dropped++;
  }
  return { bars, dropped, rows: bars.reduce((most, { row }) => Math.max(most, row + 1), 0) };
}

/** Bars that keep their places towards each other; rows count from 0. */
interface Block {
  readonly bars: readonly Bar[];
  readonly rows: number;
  readonly startMs: number;
  readonly endMs: number;
}

function runBlock(run: RunNode): Block {
  const { startMs, endMs } = run;
  const head: Bar[] = [
    {
      ...{
        row: 0,
        startMs,
        endMs,
        kind: "run",
        target: runAnchor(run.id),
        label: `${run.id} ${run.finish ?? "unfinished"}`,
      },
      detail: `${run.id}: ${run.start.signature}\n${run.finish ?? "unfinished"}, ${costLine(run)}`,
    },
  ];
  const below: Block[] = [];
  for (const turn of run.turns) {
    const target = turnAnchor(run.id, turn.turn);
    if (turn.turn > 0) {
      const label = `turn ${turn.turn}`;
      head.push({
        ...{ row: 1, startMs: turn.startMs, endMs: turn.endMs, kind: "turn", label, target },
        detail: `${label}, ${costLine(turn)}`,
      });
    }
    head.push(...turn.replies.map((call) => callBar(call, 2, target)), ...codeBars(turn, target));
    below.push(...turn.calls.map((call) => oneBar(callBar(call, 0, target))), ...turn.runs.map(runBlock));
  }
  const packed = pack(below, 3);
  return { bars: [...head, ...packed.bars], rows: packed.rows, startMs, endMs };
}

function codeBars(turn: TurnNode, target: string): Bar[] {
  const { result } = turn;
  if (!result) return [];
  const startMs = Math.max(turn.startMs, result.at - result.ms);
  const kind = result.status === "ok" ? "code" : "failed";
  const detail = `code: ${result.status}, ${durationText(result.ms)}`;
  return [{ row: 2, startMs, endMs: result.at, kind, label: "code", detail, target }];
}

function callBar(call: CallNode, row: number, target: string): Bar {
  const { request, response, startMs, endMs } = call;
  const kind =
    response && response.status !== "ok"
      ? "failed"
      : response?.cached
        ? "cached"
        : request.purpose === "sub"
          ? "sub"
          : "reply";
  const detail = `${request.purpose} call of ${request.model}, ${costLine(call)}`;
  return { row, startMs, endMs, kind, label: request.model, detail, target };
}

function oneBar(bar: Bar): Block {
  return { bars: [bar], rows: 1, startMs: bar.startMs, endMs: bar.endMs };
}

function costLine(node: Pick<RunNode, "startMs" | "endMs" | "cost">): string {
  return `${durationText(node.endMs - node.startMs)}, ${moneyText(node.cost)}`;
}

/** Puts each block into the first rows that are free at its time. */
function pack(blocks: readonly Block[], firstRow: number): { bars: Bar[]; rows: number } {
  const freeFrom: number[] = [];
  const bars: Bar[] = [];
  for (const block of [...blocks].sort((a, b) => a.startMs - b.startMs)) {
    let row = 0;
    while (row < maxRows && !isFree(freeFrom, row, block)) row++;
    for (let used = 0; used < block.rows; used++) freeFrom[row + used] = block.endMs;
    bars.push(...block.bars.map((bar) => ({ ...bar, row: bar.row + row + firstRow })));
  }
  return { bars, rows: firstRow + freeFrom.length };
}

function isFree(freeFrom: readonly number[], row: number, { rows, startMs }: Block): boolean {
  for (let used = row; used < row + rows; used++) {
    if ((freeFrom[used] ?? Number.NEGATIVE_INFINITY) > startMs) return false;
  }
  return true;
}

/** Ids of elements are numbered by the page; these keys are never put into markup unescaped. */
export function runAnchor(run: string): string {
  return `run-${run}`;
}

export function turnAnchor(run: string, turn: number): string {
  return `${runAnchor(run)}-turn-${turn}`;
}
