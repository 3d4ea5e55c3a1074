import { appendFile, lstat, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RecordedOutputs } from "../../runs/recorded-outputs.ts";
import { hashOf, joinOutputs, type OutputsOfRun, outputKey, outputLine, parseOutputLine } from "../output-line.ts";
import type { HistoryEntry } from "../session-history.ts";

/** At most twice this is kept: the current generation and the one before it. */
const limits = { textBytes: 16 * 1024 * 1024, displayBytes: 32 * 1024 * 1024 };
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
    // Each starts with a line break, so that an incomplete line before it does not damage it.
    for (const run of runs) text += `\n${await outputLine(run, (name, data) => this.#keep(name, data))}`;
    await appendFile(this.#file, text, { mode: 0o600 });
    const isFull = (this.#displayBytes ?? 0) > this.#limits.displayBytes;
    if (isFull || (await stat(this.#file)).size > this.#limits.textBytes) await this.#nextGeneration();
  }

  /** The runs with their outputs, as far as these are kept. */
  async read(entries: readonly HistoryEntry[]): Promise<HistoryEntry[]> {
    const wanted = new Set(entries.map(outputKey));
    const found = new Map<string, RecordedOutputs>();
    for (const suffix of [older, ""]) {
      const text = await readFile(`${this.#file}${suffix}`, "utf8").catch(() => "");
      for (const line of text.split("\n")) {
        const [, run, atMs] = /^\{"run":(\d+),"atMs":(\d+),/.exec(line) ?? [];
        if (!wanted.has(`${run} ${atMs}`)) continue;
        const outputs = await parseOutputLine(line, (name) => this.#display(name));
        if (outputs) found.set(`${run} ${atMs}`, outputs);
      }
    }
    return joinOutputs(entries, found);
  }

  async #keep(name: string, data: Uint8Array): Promise<void> {
    const bytes = data.byteLength;
    // Not its parents: the directory of a session that was removed meanwhile must not come back.
    await mkdir(this.#displays, { mode: 0o700 }).catch(ignoreExisting);
    this.#displayBytes ??= await sizeOf(this.#displays);
    const path = join(this.#displays, name);
    // A file of another size was not written to its end.
    if ((await lstat(path).catch(() => undefined))?.size !== bytes) {
      await writeFile(path, data, { mode: 0o600 });
      this.#displayBytes += bytes;
    }
  }

  async #nextGeneration(): Promise<void> {
    await rm(`${this.#displays}${older}`, { recursive: true, force: true });
    await rename(this.#displays, `${this.#displays}${older}`).catch(() => {}); // there may be none
    await rename(this.#file, `${this.#file}${older}`);
    this.#displayBytes = undefined;
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

async function sizeOf(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(directory)) bytes += (await lstat(join(directory, name))).size;
  return bytes;
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
