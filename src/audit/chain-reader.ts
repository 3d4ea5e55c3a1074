import { type ChainLine, genesisHash, type LineFacts, openLine, sha256 } from "./chain.ts";
import { nameOfFile } from "./chain-files.ts";
import { type AuditEvent, auditEventSchema, type ChainHead } from "./event.ts";
import type { FileLine } from "./read-lines.ts";

/** Something that is not as it was written: where, and what it means. */
export interface AuditProblem {
  readonly chain: string;
  readonly file: string | undefined;
  /** from 1; absent: the file or the chain as a whole */
  readonly line: number | undefined;
  readonly message: string;
}

export interface ChainReport {
  readonly chain: string;
  readonly files: number;
  readonly lines: number;
  readonly firstTime: string | undefined;
  readonly lastTime: string | undefined;
  readonly head: ChainHead | undefined;
  /** events that a writer says it lost */
  readonly lostEvents: number;
  readonly tornLines: number;
  /** the last line that was removed because the policy keeps no more */
  readonly prunedThrough: number;
  /** somebody writes right now: the last line may be under way */
  readonly isLive: boolean;
  readonly problems: readonly AuditProblem[];
  /** what this chain's writers saw of others */
  readonly witnessed: readonly ChainHead[];
}

const maxProblems = 100;

/** A line that somebody remembers. */
export type Wanted = ChainHead & { readonly by: string };

/** Pure: what is known of a chain while its lines go by, and everything that does not fit. */
export class ChainReader {
  readonly #chain: string;
  readonly #wanted: Wanted[];
  readonly #problems: AuditProblem[] = [];
  readonly #witnessed = new Map<string, ChainHead>();
  #file = "";
  #lines = 0;
  #first: ChainLine | undefined;
  #last: LineFacts | undefined;
  /** a line that is none, until the next one explains it */
  #unexplained: (FileLine & { readonly why: string; readonly claims: LineFacts | undefined }) | undefined;
  #unended: FileLine | undefined;
  #pruned: { throughSeq: number; hash: string } | undefined;
  #lostEvents = 0;
  #tornLines = 0;

  constructor(chain: string, wanted: readonly Wanted[]) {
    this.#chain = chain;
    this.#wanted = [...wanted];
  }

  get seq(): number {
    return this.#last?.seq ?? 0;
  }

  begin(number: number): void {
    this.#file = nameOfFile(number);
  }

  read(line: FileLine): void {
    const opened = line.isTooLong ? { problem: "is longer than any line of an audit" } : openLine(line.bytes);
    if (!line.isEnded) {
      this.#unended = line;
      // A whole line without its line feed counts, but it is not as it was written.
      if ("problem" in opened) return;
    }
    this.#lines++;
    if ("problem" in opened) {
      this.#giveUpUnexplained();
      this.#unexplained = { ...line, why: opened.problem, claims: opened.claims };
      return;
    }
    this.#accept(line, opened);
  }

  #accept(line: FileLine, opened: ChainLine): void {
    const event = eventOf(opened);
    this.#explain(opened, event);
    const problem = this.#misfit(opened);
    if (problem !== undefined) this.problem(line.number, problem);
    this.#first ??= opened;
    this.#last = opened;
    for (const wanted of this.#wanted.filter(({ seq }) => seq === opened.seq)) {
      if (wanted.hash !== opened.hash) this.problem(line.number, `is not line ${wanted.seq} that ${wanted.by} names`);
      this.#wanted.splice(this.#wanted.indexOf(wanted), 1);
    }
    if (event) this.#note(event);
  }

  /** A torn line is followed by one that gives its length and hash. */
  #explain(next: ChainLine, event: AuditEvent | undefined): void {
    const before = this.#unexplained;
    if (!before) {
      if (event?.type === "audit.torn")
        this.problem(undefined, `line ${next.seq} tells of a torn line that is not there`);
      return;
    }
    const isTorn =
      event?.type === "audit.torn" &&
      event.bytes === before.bytes.length &&
      event.sha256 === sha256(before.bytes) &&
      next.prev === this.#lastHash;
    if (isTorn) {
      this.#unexplained = undefined;
      this.#tornLines++;
    } else {
      this.#giveUpUnexplained();
    }
  }

  get #lastHash(): string {
    return this.#last?.hash ?? genesisHash(this.#chain);
  }

  /** Goes on from what the line says of itself, so that one change is one problem. */
  #giveUpUnexplained(): void {
    const line = this.#unexplained;
    if (!line) return;
    this.#unexplained = undefined;
    this.problem(line.number, line.why);
    const { claims } = line;
    if (claims?.seq !== this.seq + 1) return;
    this.#last = claims;
    for (const wanted of this.#wanted.filter(({ seq }) => seq === claims.seq)) {
      this.#wanted.splice(this.#wanted.indexOf(wanted), 1);
    }
  }

  #misfit({ seq, prev }: ChainLine): string | undefined {
    const last = this.#last;
    if (!last) {
      if (seq > 1) return undefined; // whether the beginning was removed by the policy is known at the end
      return prev === genesisHash(this.#chain) ? undefined : "does not begin this chain";
    }
    if (seq === last.seq + 1) {
      return prev === last.hash ? undefined : `does not follow line ${last.seq}: that one was changed or replaced`;
    }
    if (seq > last.seq + 1) return `has number ${seq} after ${last.seq}: lines were removed or moved`;
    return `has number ${seq} after ${last.seq}: lines were moved or repeated`;
  }

  #note(event: AuditEvent): void {
    if (event.type === "audit.lost") this.#lostEvents += event.events;
    if (event.type === "audit.pruned") this.#pruned = event;
    // the latest is the one that proves most
    if (event.type === "audit.opened") for (const head of event.others) this.#witnessed.set(head.chain, head);
  }

  endFile({ isLast, isLive }: { isLast: boolean; isLive: boolean }): void {
    if (!isLast || !isLive) this.#giveUpUnexplained();
    const rest = this.#unended;
    this.#unended = undefined;
    if (!rest || (isLast && isLive)) return;
    const why = isLast ? "; the next process that writes here records what a crash has torn" : "";
    this.problem(rest.number, `is torn: it has no end${why}`);
  }

  missingFiles(from: number, to: number): void {
    const names = from === to ? `${nameOfFile(from)} is` : `${nameOfFile(from)} to ${nameOfFile(to)} are`;
    this.problem(undefined, `${names} missing`, undefined);
  }

  problem(line: number | undefined, message: string, file: string | undefined = this.#file): void {
    if (this.#problems.length >= maxProblems) return;
    this.#problems.push({ chain: this.#chain, file: file || undefined, line, message });
  }

  report(files: number, isLive: boolean): ChainReport {
    this.#checkBeginning();
    const prunedThrough = this.#pruned?.throughSeq ?? 0;
    for (const { seq, by } of this.#wanted) {
      if (seq <= prunedThrough) continue;
      this.problem(
        undefined,
        `ends at line ${this.seq}, and ${by} names line ${seq}: the last lines were removed`,
        undefined,
      );
    }
    const last = this.#last;
    return {
      ...{ chain: this.#chain, files, lines: this.#lines, isLive, prunedThrough },
      firstTime: this.#first?.time,
      lastTime: last?.time,
      head: last && { chain: this.#chain, seq: last.seq, hash: last.hash },
      lostEvents: this.#lostEvents,
      tornLines: this.#tornLines,
      problems: this.#problems,
      witnessed: [...this.#witnessed.values()],
    };
  }

  /** A chain that does not begin at 1 has to say itself that its beginning was removed. */
  #checkBeginning(): void {
    const first = this.#first;
    if (!first || first.seq === 1) return;
    const pruned = this.#pruned;
    const missing = first.seq - 1;
    const isTold =
      pruned && (pruned.throughSeq > missing || (pruned.throughSeq === missing && pruned.hash === first.prev));
    if (!isTold) this.problem(1, `is the first line and has number ${first.seq}: lines before it were removed`);
  }
}

function eventOf(line: ChainLine): AuditEvent | undefined {
  // Only these mean something here, and lines with code may be long.
  if (!line.event.startsWith('{"type":"audit.')) return undefined;
  try {
    return auditEventSchema.safeParse(JSON.parse(line.event)).data;
  } catch {
    return undefined;
  }
}
