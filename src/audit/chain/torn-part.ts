import { createHash } from "node:crypto";
import { eventIn } from "../event-text.ts";
import type { FileLine } from "../read-lines.ts";
import { type ChainLine, type LineFacts, type OpenedLine, openLine } from "./chain.ts";

/** The last line before a torn part. */
export type Followed = Pick<LineFacts, "seq" | "hash">;

const nul = 0;
const lineFeed = "\n";
const timeCharacters = "2026-01-31T12:00:00.000Z".length;

/**
 * The bytes after the last valid line, up to the event that seals them. `audit.torn` has their length and hash, so that later
 * changes are detected. They stay in the file.
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

  /** Whether a power cut may have lost data in the middle of it. */
  get hasHole(): boolean {
    return this.#hasHole;
  }

  /** It has no line feed at its end, so a writer may be in the middle of it. */
  get isUnended(): boolean {
    return this.#isUnended;
  }

  /**
   * Whether a crash can leave this. Lines are only appended: a killed process leaves the start of a line, and a power cut leaves
   * zeros where a page did not reach the disk. The attack: an edited or removed line that passes as torn, so that the next
   * writer continues after it. That leaves complete lines without zeros before them, which no crash does.
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

  /** Whether a line seals exactly this part, at this position. */
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
    // The start of a line; the parts after it are seals whose writers were killed too.
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
