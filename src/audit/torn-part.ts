import { createHash } from "node:crypto";
import { type ChainLine, type LineFacts, type OpenedLine, openLine } from "./chain.ts";
import { eventIn } from "./event-text.ts";
import type { FileLine } from "./read-lines.ts";

/** The line that a torn part stands behind. */
export type Followed = Pick<LineFacts, "seq" | "hash">;

const nul = 0;
const lineFeed = "\n";
const timeCharacters = "2026-01-31T12:00:00.000Z".length;

/**
 * What stands behind the last line that follows on, up to the event that seals it: `audit.torn` has its length and hash, so
 * nobody changes it afterwards. It stays in the file.
 */
export class TornPart {
  readonly #after: Followed;
  readonly #hash = createHash("sha256");
  #bytes = 0;
  #lines = 0;
  #hasHole = false;
  #isUnended = false;
  #shape: "crash" | "change" = "crash";

  constructor(after: Followed) {
    this.#after = after;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get sha256(): string {
    return this.#hash.copy().digest("hex");
  }

  /** Whether a power cut may have lost something in the middle of it. */
  get hasHole(): boolean {
    return this.#hasHole;
  }

  /** Without a line feed at its end: somebody may be writing it. */
  get isUnended(): boolean {
    return this.#isUnended;
  }

  /**
   * Whether a crash can leave this behind. Lines are only ever appended: a killed process leaves the beginning of one, a power
   * cut zeros where a page did not reach the disk. The attack: a line that was edited or removed, and is called torn so that
   * the next writer goes on behind it. Those are whole lines without zeros before them, and no crash makes them.
   */
  get isFromCrash(): boolean {
    return this.#shape === "crash";
  }

  add(line: FileLine, opened: OpenedLine = openLine(line.bytes)): void {
    if (this.#lines > 0) this.#update(lineFeed);
    this.#update(line.bytes);
    this.#isUnended = !line.isEnded;
    if (!this.#canBeFromCrash(line, opened)) this.#shape = "change";
    this.#lines++;
  }

  /** Whether a line tells of exactly this part, and goes on where it stands. */
  isSealedBy({ seq, prev, event }: ChainLine): boolean {
    if (seq !== this.#after.seq + 1 || prev !== this.#after.hash || !event.startsWith('{"type":"audit.torn"'))
      return false;
    const told = eventIn(event);
    return told?.type === "audit.torn" && told.bytes === this.#bytes && told.sha256 === this.sha256;
  }

  #canBeFromCrash({ bytes, isEnded, isTooLong }: FileLine, opened: OpenedLine): boolean {
    if (isTooLong) return false;
    if (bytes.includes(nul)) {
      this.#hasHole = true;
      return true;
    }
    if (!("problem" in opened)) return this.#hasHole;
    if (opened.claims !== undefined) return false;
    // The beginning of a line; those behind it are seals whose writers were killed in turn.
    if (this.#lines > 0 && !this.#hasHole) return this.#beginsSeal(bytes.toString("latin1"));
    return !isEnded || this.#lines === 0;
  }

  #beginsSeal(text: string): boolean {
    const { seq, hash } = this.#after;
    const start = `{"v":1,"seq":${seq + 1},"time":"`;
    const time = text.slice(start.length, start.length + timeCharacters);
    const seal = `${start}${time}","prev":"${hash}","event":{"type":"audit.torn",`;
    return seal.startsWith(text) || text.startsWith(seal);
  }

  #update(data: string | Uint8Array): void {
    this.#hash.update(data);
    this.#bytes += data.length;
  }
}
