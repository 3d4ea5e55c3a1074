import { StringDecoder } from "node:string_decoder";
import type { DoneMessage } from "../../kernel/messages.ts";
import type { DisplayEvent } from "./run.ts";
import type { RunLog } from "./run-log.ts";

const maxDisplayBytes = 64 * 1024 * 1024;
/** Counted for each piece of a display besides its bytes, so that a flood of empty pieces reaches the limit too. */
const displayPieceBytes = 1024;

const byteOrderMark = "\ufeff";

/** The line between the beginning and the end of a text whose middle is missing; at most 64 bytes. */
export function leftOutLine(count: number, unit: "bytes" | "characters"): string {
  return `[... ${count.toLocaleString("en-US")} ${unit} left out ...]`;
}

/** Turns the bytes that a cell sends for one run into events. The host applies the limits: the cell is untrusted. */
export class RunOutput {
  readonly #log: RunLog;
  readonly #outputBytes: number;
  /** created for the first output: most runs print nothing */
  readonly #decoders: Partial<Record<"stdout" | "stderr", StringDecoder>> = {};
  readonly #received = { stdout: 0, stderr: 0 };
  /** streams whose text has the line about what was left out */
  readonly #isMarked = { stdout: false, stderr: false };
  readonly #isAtLineStart = { stdout: true, stderr: true };
  #displayParts: Buffer[] = [];
  #displayBytes = 0;
  /** characters of stdout so far: where a display belongs */
  #stdoutCharacters = 0;

  constructor(log: RunLog, outputBytes: number) {
    this.#log = log;
    this.#outputBytes = outputBytes;
  }

  /** `skipped`: how many bytes of the stream before these were left out. */
  receive(stream: "stdout" | "stderr", bytes: Uint8Array, skipped = 0): void {
    if (skipped > 0) this.#mark(stream, skipped);
    const room = this.#outputBytes - this.#received.stdout - this.#received.stderr;
    const kept = bytes.subarray(0, Math.max(0, room));
    this.#received[stream] += kept.byteLength;
    const isFirst = this.#decoders[stream] === undefined;
    // Not TextDecoder: for bytes that are not UTF-8 it takes five times as long.
    this.#decoders[stream] ??= new StringDecoder("utf8");
    const text = this.#decoders[stream].write(kept);
    this.#push(stream, isFirst && text.startsWith(byteOrderMark) ? text.slice(1) : text);
  }

  receiveDisplay(part: { display: number; mime: string; more: boolean }, bytes: Uint8Array): void {
    this.#displayBytes += bytes.byteLength + displayPieceBytes;
    if (this.#displayBytes > maxDisplayBytes) return;
    this.#displayParts.push(Buffer.from(bytes));
    if (part.more) return;
    const data = Buffer.concat(this.#displayParts);
    this.#displayParts = [];
    const { display, mime } = part;
    this.#log.push({ type: "display", display, mime, data, stdoutOffset: this.#stdoutCharacters });
  }

  /** Everything received, as the fields of a result. Called once, at the end. */
  gathered(): { stdout: string; stderr: string; displays: DisplayEvent[] } {
    const { stdout, stderr } = this.#decoders;
    if (stdout) this.#push("stdout", stdout.end());
    if (stderr) this.#push("stderr", stderr.end());
    if (this.#log.length === 0) return { stdout: "", stderr: "", displays: [] };
    return { stdout: this.#log.text("stdout"), stderr: this.#log.text("stderr"), displays: this.#log.displays() };
  }

  /** How many bytes of each stream were left out, by the cell's own count of what the program printed. */
  leftOut(done: Pick<DoneMessage, "stdoutBytes" | "stderrBytes">): { stdout: number; stderr: number } {
    const { stdout, stderr } = this.#received;
    return { stdout: Math.max(0, done.stdoutBytes - stdout), stderr: Math.max(0, done.stderrBytes - stderr) };
  }

  wasTruncated(done: Pick<DoneMessage, "stdoutBytes" | "stderrBytes">): boolean {
    const { stdout, stderr } = this.leftOut(done);
    return stdout + stderr > 0 || this.#displayBytes > maxDisplayBytes;
  }

  /** Once per stream: a cell that sends nothing but such messages must not fill the host's memory. */
  #mark(stream: "stdout" | "stderr", skipped: number): void {
    if (this.#isMarked[stream]) return;
    this.#isMarked[stream] = true;
    this.#push(stream, this.#decoders[stream]?.end() ?? "");
    this.#push(stream, `${this.#isAtLineStart[stream] ? "" : "\n"}${leftOutLine(skipped, "bytes")}\n`);
  }

  #push(type: "stdout" | "stderr", text: string): void {
    if (text === "") return;
    this.#isAtLineStart[type] = text.endsWith("\n");
    if (type === "stdout") this.#stdoutCharacters += text.length;
    this.#log.push({ type, text });
  }
}
