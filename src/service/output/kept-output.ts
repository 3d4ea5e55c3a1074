import { randomBytes } from "node:crypto";
import { CodecellError } from "../../lib/errors.ts";
import type { RunResult } from "../../sessions/runs/run.ts";
import { leftOutLine } from "../../sessions/runs/run-output.ts";
import { splitsPair } from "./cut-middle.ts";
import type { KeptStream } from "./kept-stream.ts";
import { outputText } from "./output-text.ts";
import { readableText } from "./readable-text.ts";
import { shareBudget } from "./share-budget.ts";
import { type PageRequest, type TextPage, textPage } from "./text-page.ts";
import { type SearchAnswer, type SearchRequest, searchText } from "./text-search.ts";

/** Limits of the kept output. */
export interface KeptOutputLimits {
  /** memory for all runs together; the oldest are dropped first */
  readonly totalBytes?: number;
  /** memory for one run; if it has more output, the beginning and the end of each stream are kept */
  readonly runBytes?: number;
  /** end of every handle */
  readonly idTag?: string;
}

/** Which text to read: readable for a model, or exactly as the program wrote it. Offsets differ between the two. */
export interface TextChoice {
  /** default: stdout */
  readonly stream?: KeptStream;
  /** default: readable */
  readonly form?: "readable" | "raw";
}

/** The size of a stream. */
export interface StreamSize {
  /** bytes that the program wrote; undefined if they were not counted */
  readonly writtenBytes: number | undefined;
  /** bytes of them that the run's output limit left out, between the beginning and the end */
  readonly leftOutBytes: number;
  /** whether the middle was not kept, because of the run's output limit or of `runBytes` */
  readonly isPartial: boolean;
}

/** A part of a kept stream. */
export type KeptPage = TextPage & StreamSize & { readonly stream: KeptStream };
/** What a search found in a kept stream. */
export type KeptMatches = SearchAnswer & StreamSize & { readonly stream: KeptStream };

/** What is kept of a result. */
export type KeptResult = Pick<
  RunResult,
  "stdout" | "stderr" | "displays" | "value" | "error" | "stdoutBytes" | "stderrBytes" | "leftOutBytes"
>;

interface KeptText extends StreamSize {
  readonly raw: string;
  readonly readable: string;
}

interface KeptRun {
  readonly streams: Readonly<Record<KeptStream, KeptText>>;
  readonly bytes: number;
}

const MiB = 1024 * 1024;
/** A string takes one or two bytes per character; count the maximum. */
const bytesPerCharacter = 2;
/** room for the line between the beginning and the end of a text */
const markerCharacters = 70;

/** Keeps the full output of runs in memory, within limits, to page and search by unguessable handles. */
export class KeptOutput {
  readonly #totalBytes: number;
  readonly #runBytes: number;
  readonly #runs = new Map<string, KeptRun>();
  readonly #idTag: string;
  #bytes = 0;

  constructor(limits: KeptOutputLimits = {}) {
    this.#idTag = limits.idTag ?? "";
    this.#totalBytes = limits.totalBytes ?? 64 * MiB;
    this.#runBytes = Math.min(limits.runBytes ?? 16 * MiB, this.#totalBytes);
  }

  /** The memory of all kept runs, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Keeps the output of a run and returns its handle. */
  keep(result: KeptResult) {
    const handle = `out_${randomBytes(12).toString("base64url")}${this.#idTag}`;
    const run = keptRun(result, this.#runBytes);
    this.#runs.set(handle, run);
    this.#bytes += run.bytes;
    for (const oldest of this.#runs.keys()) {
      if (this.#bytes <= this.#totalBytes) break;
      this.drop(oldest);
    }
    return handle;
  }

  /** A part of a stream, by characters or by lines. */
  page(handle: string, request: PageRequest & TextChoice = {}): KeptPage {
    const { stream, text, size } = this.#text(handle, request);
    return { stream, ...textPage(text, request), ...size };
  }

  /** The lines of a stream that contain a text. */
  search(handle: string, request: SearchRequest & TextChoice): KeptMatches {
    const { stream, text, size } = this.#text(handle, request);
    return { stream, ...searchText(text, request), ...size };
  }

  has(handle: string): boolean {
    return this.#runs.has(handle);
  }

  /** Drops the output of a run. Ignores unknown handles. */
  drop(handle: string): void {
    this.#bytes -= this.#runs.get(handle)?.bytes ?? 0;
    this.#runs.delete(handle);
  }

  #text(handle: string, choice: TextChoice): { stream: KeptStream; text: string; size: StreamSize } {
    const stream = choice.stream ?? "stdout";
    const run = this.#runs.get(handle);
    if (!run) {
      throw new CodecellError("output_gone", `there is no output with handle ${JSON.stringify(handle.slice(0, 64))}`, {
        hint: "it was dropped to make room for newer output; run the code again, or write its output to a file in the workspace",
        details: { totalBytes: this.#totalBytes },
      });
    }
    const { raw, readable, ...size } = run.streams[stream];
    return { stream, text: choice.form === "raw" ? raw : readable, size };
  }
}

function keptRun(result: KeptResult, runBytes: number): KeptRun {
  const texts = [outputText(result), result.stderr, result.value ?? "", result.error?.traceback ?? ""].map(bothForms);
  const claims = texts.map((text) => ({ need: charactersOf(text), floor: 0, weight: 1 }));
  const shares = shareBudget(claims, Math.floor(runBytes / bytesPerCharacter));
  const [stdout, stderr, value, traceback] = texts.map((text, index) => fitted(text, shares[index] ?? 0));
  const streams = {
    stdout: sized(stdout, { writtenBytes: writtenBytes(result, "stdout"), leftOutBytes: result.leftOutBytes.stdout }),
    stderr: sized(stderr, { writtenBytes: writtenBytes(result, "stderr"), leftOutBytes: result.leftOutBytes.stderr }),
    value: sized(value),
    traceback: sized(traceback),
  };
  const characters = Object.values(streams).reduce((sum, text) => sum + charactersOf(text), 0);
  return { streams, bytes: characters * bytesPerCharacter + 1024 };
}

interface Forms {
  readonly raw: string;
  readonly readable: string;
  readonly isCut?: boolean;
}

function bothForms(raw: string): Forms {
  return { raw, readable: readableText(raw) };
}

/** If both forms are equal, as for most output, they are one string in memory. */
function charactersOf({ raw, readable }: Forms): number {
  return raw.length + (readable === raw ? 0 : readable.length);
}

function fitted(text: Forms, room: number): Forms {
  if (charactersOf(text) <= room) return text;
  if (text.raw === text.readable) {
    const raw = bothEnds(text.raw, room);
    return { raw, readable: raw, isCut: true };
  }
  const half = Math.floor(room / 2);
  return { raw: bothEnds(text.raw, half), readable: bothEnds(text.readable, half), isCut: true };
}

/** Returns a copy, because a slice would keep the whole text in memory. */
function bothEnds(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const half = Math.max(0, Math.floor((characters - markerCharacters) / 2));
  const headEnd = half - (splitsPair(text, half) ? 1 : 0);
  const tailStart = text.length - half + (splitsPair(text, text.length - half) ? 1 : 0);
  const marker = `\n${leftOutLine(tailStart - headEnd, "characters")}\n`;
  return Buffer.from(text.slice(0, headEnd) + marker + text.slice(tailStart), "utf16le").toString("utf16le");
}

/** A cell that crashed did not report a count. */
function writtenBytes(result: KeptResult, stream: "stdout" | "stderr"): number {
  const reported = stream === "stdout" ? result.stdoutBytes : result.stderrBytes;
  return Math.max(reported, Buffer.byteLength(result[stream]));
}

function sized(
  { raw, readable, isCut = false }: Forms = { raw: "", readable: "" },
  { writtenBytes, leftOutBytes }: Omit<StreamSize, "isPartial"> = { writtenBytes: undefined, leftOutBytes: 0 },
): KeptText {
  return { raw, readable, writtenBytes, leftOutBytes, isPartial: isCut || leftOutBytes > 0 };
}
