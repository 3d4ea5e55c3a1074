import { createHash } from "node:crypto";
import { z } from "zod";
import type { RecordedOutputs } from "../runs/recorded-outputs.ts";
import type { RunEvent } from "../runs/run.ts";
import type { HistoryEntry } from "./session-history.ts";

/** A smaller display is in the line itself. */
const inlineBytes = 4 * 1024;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0);
const eventSchema = z.union([
  z.object({ type: z.enum(["stdout", "stderr"]), text: z.string() }),
  z.object({ type: z.literal("display"), display: count, mime: z.string(), base64: z.string() }),
  z.object({ type: z.literal("display"), display: count, mime: z.string(), sha256, bytes: count }),
]);
type StoredEvent = z.output<typeof eventSchema>;

const lineSchema = z.object({
  run: count,
  atMs: count,
  events: z.array(eventSchema),
  value: z.string().optional(),
  error: z.object({ name: z.string(), message: z.string(), traceback: z.string() }).optional(),
  leftOutBytes: count,
});

/** A run, and what it printed, displayed and returned. */
export interface OutputsOfRun extends Pick<HistoryEntry, "run" | "atMs"> {
  readonly outputs: RecordedOutputs;
}

/** The outputs of a run as a line of JSON. `keep` stores each larger display apart, under the name of its hash. */
export async function outputLine(
  { run, atMs, outputs }: OutputsOfRun,
  keep: (sha256: string, data: Uint8Array) => Promise<void>,
): Promise<string> {
  const { value, error, leftOutBytes } = outputs;
  const events: StoredEvent[] = [];
  for (const event of outputs.events) events.push(await stored(event, keep));
  return JSON.stringify({ run, atMs, events, value, error, leftOutBytes });
}

/** The outputs in a line; undefined: it cannot be read. `find` returns a display, or undefined if it is gone. */
export async function parseOutputLine(
  line: string,
  find: (sha256: string) => Promise<Uint8Array | undefined>,
): Promise<RecordedOutputs | undefined> {
  const parsed = lineSchema.safeParse(jsonOf(line)).data;
  if (!parsed) return undefined;
  const events: RunEvent[] = [];
  let { leftOutBytes } = parsed;
  for (const event of parsed.events) {
    if (event.type !== "display") events.push(event);
    else {
      const { type, display, mime } = event;
      const data = "base64" in event ? Buffer.from(event.base64, "base64") : await find(event.sha256);
      if (data) events.push({ type, display, mime, data });
      else leftOutBytes += "bytes" in event ? event.bytes : 0;
    }
  }
  return { events, value: parsed.value, error: parsed.error, leftOutBytes };
}

/** The runs with the outputs that were found for them. */
export function joinOutputs(
  entries: readonly HistoryEntry[],
  found: ReadonlyMap<string, RecordedOutputs>,
): HistoryEntry[] {
  return entries.map((entry) => {
    const outputs = entry.isSilent ? silence : found.get(outputKey(entry));
    return outputs ? { ...entry, outputs } : entry;
  });
}

/** Both: after a power cut, a session may count a number again. */
export function outputKey({ run, atMs }: Pick<HistoryEntry, "run" | "atMs">): string {
  return `${run} ${atMs}`;
}

export function hashOf(data: Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

const silence: RecordedOutputs = { events: [], value: undefined, error: undefined, leftOutBytes: 0 };

async function stored(
  event: RunEvent,
  keep: (sha256: string, data: Uint8Array) => Promise<void>,
): Promise<StoredEvent> {
  if (event.type !== "display") return event;
  const { type, display, mime, data } = event;
  const bytes = data.byteLength;
  if (bytes <= inlineBytes) return { type, display, mime, base64: Buffer.from(data).toString("base64") };
  const name = hashOf(data);
  await keep(name, data);
  return { type, display, mime, sha256: name, bytes };
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
