import type { FileHandle } from "node:fs/promises";
import { CodecellError } from "../../lib/errors.ts";
import { type Amount, amountKinds } from "../budget/amounts.ts";
import { type DoneLine, type SentLine, type TapeLine, tapeLine } from "./tape-line.ts";

/** A larger tape would fill the memory. */
const maxTapeBytes = 256 * 1024 * 1024;
const lineFeed = 0x0a;

/** What is on a tape. */
export interface TapeContents {
  readonly calls: readonly DoneLine[];
  /** what calls cost that are not replayed: they were cut off by a crash, or are made again */
  readonly losses: readonly Loss[];
  readonly nextCall: number;
  /** the length without a torn last line */
  readonly goodBytes: number;
}

/** What an interrupted run spent in vain. The run that resumed it was charged for it before its first own call, which has this number. */
export interface Loss {
  readonly beforeCall: number;
  readonly amount: Amount;
}

/** Reads a tape. A killed process leaves the start of a line at the end, which is ignored. Anything else that is wrong is an error. */
export async function readTape(file: FileHandle, path: string): Promise<TapeContents> {
  const { size } = await file.stat();
  if (size > maxTapeBytes) throw new CodecellError("too_large", `${path} is larger than ${maxTapeBytes} bytes`);
  const bytes = await file.readFile();
  // Without its line feed a line is torn, even if it happens to be complete JSON.
  const goodBytes = bytes.lastIndexOf(lineFeed) + 1;
  const lines = bytes.subarray(0, goodBytes).toString("utf8").split("\n").slice(0, -1);
  return { ...contents(lines.map((line, index) => lineAt(line, index, path))), goodBytes };
}

function lineAt(text: string, index: number, path: string): TapeLine {
  try {
    return tapeLine.parse(JSON.parse(text));
  } catch (cause) {
    const message = `${path} is not a valid tape: line ${index + 1} cannot be read`;
    throw new CodecellError("usage", message, { hint: "record it again, or choose another file", cause });
  }
}

function contents(lines: readonly TapeLine[]): Omit<TapeContents, "goodBytes"> {
  const open = new Map<number, SentLine>();
  const done = new Map<number, DoneLine>();
  const losses: Loss[] = [];
  let nextCall = 0;
  for (const line of lines) {
    if (line.type === "resumed") {
      const dropped = line.dropped.flatMap((call) => done.get(call) ?? []);
      for (const { call } of dropped) done.delete(call);
      const amounts = [...[...open.values()].map(({ held }) => held), ...dropped.map(({ charged }) => charged)];
      losses.push(...amounts.map((amount) => ({ beforeCall: nextCall, amount })));
      open.clear();
      continue;
    }
    nextCall = Math.max(nextCall, line.call + 1);
    if (line.type === "sent") open.set(line.call, line);
    else {
      open.delete(line.call);
      done.set(line.call, line);
    }
  }
  losses.push(...[...open.values()].map(({ held }) => ({ beforeCall: nextCall, amount: held })));
  return { calls: [...done.values()], losses, nextCall };
}

export function sum(a: Amount, b: Amount): Amount {
  const total = { calls: 0, tokens: 0, usd: 0 };
  for (const kind of amountKinds) total[kind] = a[kind] + b[kind];
  return total;
}

/**
 * Calls that a resumed run makes again: those that were aborted, and those that failed after the last answer, because they may be
 * what ended the run. The program has already worked with earlier failures, so those are replayed.
 */
export function callsToRepeat(calls: readonly DoneLine[]): number[] {
  const lastAnswer = calls.findLastIndex(({ response }) => response !== undefined);
  return calls.flatMap(({ call, error }, index) =>
    error && (index > lastAnswer || error.code === "aborted") ? [call] : [],
  );
}
