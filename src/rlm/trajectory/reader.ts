import { openLine } from "../../audit/chain/chain.ts";
import { type FileLine, readLines } from "../../audit/read-lines.ts";
import { CodecellError } from "../../lib/errors.ts";
import { parseJson } from "../../lib/json/parse-json.ts";
import { eventSchema, type RlmEvent } from "./event.ts";
import { trajectoryGenesis } from "./writer.ts";

/** A trajectory as it was read, and whether it is as it was written. */
export interface Trajectory {
  readonly events: readonly RlmEvent[];
  /** number of whole lines, and the hash of the last one */
  readonly head: { readonly lines: number; readonly hash: string };
  /** the first line that was changed, removed, added or moved; events after it are shown, and prove nothing */
  readonly problem?: { readonly line: number; readonly what: string };
  /** bytes of a last line that a crash cut off */
  readonly tornBytes: number;
}

/** Far above any real trajectory: the texts in it are truncated. The attack: a file that takes all memory. */
const maxBytes = 512 * 1024 * 1024;

/** Reads a trajectory and verifies its chain. Throws if the file is no trajectory at all. */
export async function readTrajectory(path: string): Promise<Trajectory> {
  try {
    return await readAll(path, readLines(path));
  } catch (cause) {
    if (cause instanceof CodecellError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const reason =
      { ENOENT: "does not exist", EISDIR: "is a directory", EACCES: "cannot be read: permission denied" }[code ?? ""] ??
      "cannot be read";
    throw new CodecellError("usage", `${path} ${reason}`, { cause });
  }
}

async function readAll(path: string, lines: AsyncIterable<FileLine>): Promise<Trajectory> {
  const events: RlmEvent[] = [];
  let head = { lines: 0, hash: trajectoryGenesis };
  let problem: Trajectory["problem"];
  let tornBytes = 0;
  let size = 0;
  for await (const line of lines) {
    size += line.bytes.length;
    if (size > maxBytes) throw new CodecellError("too_large", `${path} is larger than ${maxBytes} bytes`);
    const read = readLine(line, head);
    if (!line.isEnded && "what" in read) {
      tornBytes = line.bytes.length;
      break;
    }
    if ("what" in read) problem ??= { line: line.number, what: read.what };
    if (read.hash !== undefined) head = { lines: line.number, hash: read.hash };
    if (read.event) events.push(read.event);
  }
  if (events.length === 0) {
    throw new CodecellError("usage", `${path} is not a trajectory`, {
      hint: "name a file that a recursive run wrote: `--trajectory FILE`, or the trajectory of its result",
    });
  }
  return { events, head, tornBytes, ...(problem && { problem }) };
}

interface ReadLine {
  readonly event?: RlmEvent;
  readonly hash?: string;
  /** what is wrong with the line */
  readonly what?: string;
}

function readLine(line: FileLine, before: Trajectory["head"]): ReadLine {
  if (line.isTooLong) return { what: "is too long" };
  const opened = openLine(line.bytes);
  if ("problem" in opened) {
    const { claims } = opened;
    // The content of a changed line is shown, because it may be what a reader looks for; the problem says that it is changed.
    const event = claims && eventOf(jsonOf(line.bytes), claims.time);
    const what = claims ? "was changed: its hash does not match" : "is not a line of a trajectory";
    return { what, ...(claims && { hash: claims.hash }), ...(event && { event }) };
  }
  const event = eventOf(jsonIn(opened.event), opened.time);
  const isNext = opened.prev === before.hash && opened.seq === before.lines + 1;
  const what = isNext ? undefined : "does not follow the line before it: a line was removed, added or moved";
  return {
    hash: opened.hash,
    ...(event && { event }),
    ...(what !== undefined && { what }),
    ...(what === undefined && !event && { what: "holds no event that this version knows" }),
  };
}

function jsonOf(bytes: Uint8Array): unknown {
  const value = jsonIn(Buffer.from(bytes).toString("utf8"));
  return typeof value === "object" && value !== null ? (value as { event?: unknown }).event : undefined;
}

function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function eventOf(value: unknown, time: string): RlmEvent | undefined {
  const parsed = eventSchema.safeParse(value);
  const at = Date.parse(time);
  return parsed.success && Number.isFinite(at) ? { ...parsed.data, at } : undefined;
}
