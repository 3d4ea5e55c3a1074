import { createHash } from "node:crypto";
import { appendFile, lstat, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { RecordedOutputs } from "../runs/recorded-outputs.ts";
import type { RunEvent } from "../runs/run.ts";
import type { HistoryEntry } from "./session-history.ts";

/** At most twice this is kept: the current generation and the one before it. */
const limits = { textBytes: 16 * 1024 * 1024, displayBytes: 32 * 1024 * 1024 };
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

/**
 * The outputs of a session's runs, beside its history: a line per run, and each larger display in a file that is named by its
 * hash, once. Nothing waits for the disk to sync: a power cut may cost the last outputs, and a damaged one is not shown.
 */
export class StoredOutputs {
  readonly #file: string;
  readonly #displays: string;
  readonly #limits: typeof limits;
  /** bytes of the displays of this generation; undefined: not counted yet */
  #displayBytes: number | undefined;

  constructor(directory: string, maxima = limits) {
    this.#file = join(directory, "outputs.jsonl");
    this.#displays = join(directory, "displays");
    this.#limits = maxima;
  }

  /** Adds the outputs of runs. The oldest ones go when there are too many. */
  async append(runs: readonly OutputsOfRun[]): Promise<void> {
    let text = "";
    for (const { run, atMs, outputs } of runs) {
      const { value, error, leftOutBytes } = outputs;
      const events: StoredEvent[] = [];
      for (const event of outputs.events) events.push(await this.#stored(event));
      // It starts with a line break, so that an incomplete line before it does not damage it.
      text += `\n${JSON.stringify({ run, atMs, events, value, error, leftOutBytes })}`;
    }
    await appendFile(this.#file, text, { mode: 0o600 });
    const isFull = (this.#displayBytes ?? 0) > this.#limits.displayBytes;
    if (isFull || (await stat(this.#file)).size > this.#limits.textBytes) await this.#nextGeneration();
  }

  /** The runs with their outputs, as far as these are kept. */
  async read(entries: readonly HistoryEntry[]): Promise<HistoryEntry[]> {
    const wanted = new Set(entries.map(keyOf));
    const found = new Map<string, RecordedOutputs>();
    for (const suffix of [older, ""]) {
      const text = await readFile(`${this.#file}${suffix}`, "utf8").catch(() => "");
      for (const line of text.split("\n")) {
        const [, run, atMs] = /^\{"run":(\d+),"atMs":(\d+),/.exec(line) ?? [];
        if (!wanted.has(`${run} ${atMs}`)) continue;
        const outputs = await this.#parsed(line);
        if (outputs) found.set(`${run} ${atMs}`, outputs);
      }
    }
    return entries.map((entry) => {
      const outputs = entry.isSilent ? silence : found.get(keyOf(entry));
      return outputs ? { ...entry, outputs } : entry;
    });
  }

  async #stored(event: RunEvent): Promise<StoredEvent> {
    if (event.type !== "display") return event;
    const { type, display, mime, data } = event;
    const bytes = data.byteLength;
    if (bytes <= inlineBytes) return { type, display, mime, base64: Buffer.from(data).toString("base64") };
    const name = hashOf(data);
    // Not its parents: the directory of a session that was removed meanwhile must not come back.
    await mkdir(this.#displays, { mode: 0o700 }).catch(ignoreExisting);
    this.#displayBytes ??= await sizeOf(this.#displays);
    const path = join(this.#displays, name);
    // A file of another size was not written to its end.
    if ((await lstat(path).catch(() => undefined))?.size !== bytes) {
      await writeFile(path, data, { mode: 0o600 });
      this.#displayBytes += bytes;
    }
    return { type, display, mime, sha256: name, bytes };
  }

  async #nextGeneration(): Promise<void> {
    await rm(`${this.#displays}${older}`, { recursive: true, force: true });
    await rename(this.#displays, `${this.#displays}${older}`).catch(() => {}); // there may be none
    await rename(this.#file, `${this.#file}${older}`);
    this.#displayBytes = undefined;
  }

  async #parsed(line: string): Promise<RecordedOutputs | undefined> {
    const parsed = lineSchema.safeParse(jsonOf(line)).data;
    if (!parsed) return undefined;
    const events: RunEvent[] = [];
    let { leftOutBytes } = parsed;
    for (const event of parsed.events) {
      if (event.type !== "display") events.push(event);
      else {
        const { type, display, mime } = event;
        const data = "base64" in event ? Buffer.from(event.base64, "base64") : await this.#display(event.sha256);
        if (data) events.push({ type, display, mime, data });
        else leftOutBytes += "bytes" in event ? event.bytes : 0;
      }
    }
    return { events, value: parsed.value, error: parsed.error, leftOutBytes };
  }

  /** Undefined: it is gone, or not what was stored. */
  async #display(name: string): Promise<Buffer | undefined> {
    for (const suffix of ["", older]) {
      const data = await readFile(join(`${this.#displays}${suffix}`, name)).catch(() => undefined);
      if (data && hashOf(data) === name) return data;
    }
    return undefined;
  }
}

const older = ".older";

const silence: RecordedOutputs = { events: [], value: undefined, error: undefined, leftOutBytes: 0 };

/** Both: after a crash of the host, a session may count a number again. */
function keyOf({ run, atMs }: Pick<HistoryEntry, "run" | "atMs">): string {
  return `${run} ${atMs}`;
}

function hashOf(data: Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

async function sizeOf(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(directory)) bytes += (await lstat(join(directory, name))).size;
  return bytes;
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
