import type { AuditEvent, ChainHead } from "../event.ts";
import { eventIn } from "../event-text.ts";
import type { FileLine } from "../read-lines.ts";
import { WitnessedHeads } from "../witnessed-heads.ts";
import { type ChainLine, genesisHash, type LineFacts, type OpenedLine, openLine } from "./chain.ts";
import { nameOfFile } from "./chain-files.ts";
import { TornPart } from "./torn-part.ts";

/** A deviation from what was written: where it is, and what it means. */
export interface AuditProblem {
  readonly chain: string;
  readonly file: string | undefined;
  /** from 1; absent: the file or the chain as a whole */
  readonly line: number | undefined;
  readonly message: string;
}

/** The result of reading one chain. */
export interface ChainReport {
  readonly chain: string;
  readonly files: number;
  readonly lines: number;
  readonly firstTime: string | undefined;
  readonly lastTime: string | undefined;
  readonly head: ChainHead | undefined;
  /** events that a writer reported as lost */
  readonly lostEvents: number;
  /** parts that a crash tore and a later writer sealed, and their bytes */
  readonly tornParts: number;
  readonly tornBytes: number;
  /** a torn end that is not sealed yet; a problem until it is */
  readonly tornEndBytes: number;
  /** the last line that was removed by the policy */
  readonly prunedThrough: number;
  /** a process is writing: the last line may be incomplete */
  readonly isLive: boolean;
  readonly problems: readonly AuditProblem[];
  /** heads of other chains that this chain's writers saw */
  readonly witnessed: readonly ChainHead[];
}

const maxProblems = 100;

/** The source of the last line that was synced to disk. */
export const theHeadFile = "the file head";

/** A line that a head or another chain names. */
export type Wanted = ChainHead & { readonly by: string };

/** The state of a chain up to a line. */
interface Known {
  readonly lines: number;
  readonly first: ChainLine | undefined;
  readonly last: LineFacts | undefined;
  readonly wanted: readonly Wanted[];
  readonly problems: readonly AuditProblem[];
  /** number of heads that were seen up to here */
  readonly witnessed: number;
  readonly pruned: { readonly throughSeq: number; readonly hash: string } | undefined;
  readonly lostEvents: number;
  readonly tornParts: number;
  readonly tornBytes: number;
}

/** Pure: reads a chain line by line and collects its problems. */
export class ChainReader {
  readonly #chain: string;
  readonly #witnessed = new WitnessedHeads();
  /** numbers that are named somewhere, so that months of kept heads are not searched for every line */
  readonly #wantedAt: ReadonlySet<number>;
  #known: Known;
  #file = "";
  /** from the first line that does not follow, until a line seals it; `before` is the state there */
  #torn: { readonly part: TornPart; readonly before: Known; readonly line: number } | undefined;
  #tornEndBytes = 0;
  /** number of the last line of a file, if it has no line feed */
  #unended: number | undefined;

  constructor(chain: string, wanted: readonly Wanted[]) {
    this.#chain = chain;
    this.#wantedAt = new Set(wanted.map(({ seq }) => seq));
    const nothing = { lines: 0, lostEvents: 0, tornParts: 0, tornBytes: 0 };
    const unseen = { first: undefined, last: undefined, pruned: undefined };
    this.#known = {
      ...nothing,
      ...unseen,
      problems: [],
      witnessed: 0,
      wanted: [...wanted].sort((a, b) => a.seq - b.seq),
    };
  }

  get seq(): number {
    return this.#known.last?.seq ?? 0;
  }

  begin(number: number): void {
    this.#file = nameOfFile(number);
  }

  read(line: FileLine): void {
    const opened = line.isTooLong ? { problem: "is too long to be an audit line" } : openLine(line.bytes);
    if (this.#torn && !("problem" in opened) && this.#torn.part.isSealedBy(opened)) this.#takeForTorn(this.#torn);
    else if (!this.#torn && !this.#follows(opened)) {
      const part = new TornPart({ seq: this.seq, hash: this.#lastHash });
      this.#torn = { part, before: this.#known, line: line.number };
    } else if (!this.#torn && isTornEvent(opened)) {
      this.problem(line.number, "records a torn part that does not exist");
    }
    this.#torn?.part.add(line, opened);
    if (!line.isEnded) this.#unended = line.number;
    if (!("problem" in opened)) this.#accept(line, opened);
    else if (line.isEnded) this.#goOnBehind(line, opened.problem, opened.claims);
  }

  /** A sealed part counts neither as lines nor as problems. */
  #takeForTorn({ part, before }: { readonly part: TornPart; readonly before: Known }): void {
    this.#torn = undefined;
    this.#goBack({ ...before, tornParts: before.tornParts + 1, tornBytes: before.tornBytes + part.bytes });
  }

  #accept(line: FileLine, opened: ChainLine): void {
    const problem = this.#misfit(opened);
    if (problem !== undefined) this.problem(line.number, problem);
    const named = this.#wantedAt.has(opened.seq) ? this.#known.wanted : [];
    for (const { seq, hash, by } of named) {
      if (seq > opened.seq) break; // sorted by number
      if (seq === opened.seq && hash !== opened.hash) {
        this.problem(line.number, `is not line ${seq} that ${by} names`);
      }
    }
    this.#pass(opened);
    this.#know({ first: this.#known.first ?? opened });
    const event = eventOf(opened);
    if (event) this.#note(event);
  }

  /** Continues from what the line claims, so that one change is one problem. */
  #goOnBehind(line: FileLine, why: string, claims: LineFacts | undefined): void {
    this.problem(line.number, why);
    if (claims?.seq === this.seq + 1) this.#pass(claims);
    else this.#know({ lines: this.#known.lines + 1 });
  }

  #pass(last: LineFacts): void {
    const { wanted: before } = this.#known;
    const wanted = this.#wantedAt.has(last.seq) ? without(before, last.seq) : before;
    this.#know({ lines: this.#known.lines + 1, last, wanted });
  }

  #know(news: Partial<Known>): void {
    this.#known = { ...this.#known, ...news };
  }

  #goBack(known: Known): void {
    this.#known = known;
    this.#witnessed.cutTo(known.witnessed);
  }

  get #lastHash(): string {
    return this.#known.last?.hash ?? genesisHash(this.#chain);
  }

  #follows(opened: OpenedLine): boolean {
    return !("problem" in opened) && this.#misfit(opened) === undefined;
  }

  #misfit({ seq, prev }: ChainLine): string | undefined {
    const { last } = this.#known;
    if (!last) {
      if (seq > 1) return undefined; // whether the policy removed the beginning is checked at the end
      return prev === genesisHash(this.#chain) ? undefined : "does not begin this chain";
    }
    if (seq === last.seq + 1) {
      return prev === last.hash
        ? undefined
        : `does not follow line ${last.seq}: line ${last.seq} was changed or replaced`;
    }
    if (seq > last.seq + 1) return `has number ${seq} after ${last.seq}: lines were removed or moved`;
    return `has number ${seq} after ${last.seq}: lines were moved or duplicated`;
  }

  #note(event: AuditEvent): void {
    if (event.type === "audit.lost") this.#know({ lostEvents: this.#known.lostEvents + event.events });
    if (event.type === "audit.pruned") this.#know({ pruned: event });
    if (event.type !== "audit.opened") return;
    this.#witnessed.add(event.others);
    this.#know({ witnessed: this.#witnessed.count });
  }

  endFile({ isLast, isLive }: { isLast: boolean; isLive: boolean }): void {
    const [torn, unended] = [this.#torn, this.#unended];
    this.#torn = undefined;
    this.#unended = undefined;
    const next = isLast ? "; the next process that writes here seals what a crash has torn" : "";
    if (torn?.part.isFromCrash && isLast && this.#isBehindHead(torn.before)) {
      this.#goBack(torn.before);
      // A running writer may be in the middle of a line, or about to seal a torn part.
      if (isLive && !torn.part.hasHole) return;
      this.#tornEndBytes = torn.part.bytes;
      this.problem(torn.line, `is torn: ${torn.part.bytes} bytes up to the end are incomplete${next}`);
    } else if (unended !== undefined && !(isLast && isLive && !torn)) {
      this.problem(unended, `is torn: it has no line end${next}`);
    }
  }

  /** Whether everything that was synced to disk comes before. */
  #isBehindHead({ wanted }: Known): boolean {
    return !wanted.some(({ by }) => by === theHeadFile);
  }

  missingFiles(from: number, to: number): void {
    const names = from === to ? `${nameOfFile(from)} is` : `${nameOfFile(from)} to ${nameOfFile(to)} are`;
    this.problem(undefined, `${names} missing`, undefined);
  }

  problem(line: number | undefined, message: string, file: string | undefined = this.#file): void {
    if (this.#known.problems.length >= maxProblems) return;
    const found = { chain: this.#chain, file: file || undefined, line, message };
    this.#know({ problems: [...this.#known.problems, found] });
  }

  report(files: number, isLive: boolean): ChainReport {
    this.#checkBeginning();
    const prunedThrough = this.#prunedThrough;
    for (const { seq, hash, by } of this.#known.wanted) {
      if (seq < prunedThrough || (seq === prunedThrough && hash === this.#known.first?.prev)) continue;
      this.problem(
        undefined,
        `ends at line ${this.seq}, and ${by} names line ${seq}: the last lines were removed`,
        undefined,
      );
    }
    const { first, last, lines, lostEvents, tornParts, tornBytes, problems } = this.#known;
    return {
      ...{ chain: this.#chain, files, lines, isLive, prunedThrough, lostEvents, problems },
      ...{ tornParts, tornBytes, tornEndBytes: this.#tornEndBytes },
      firstTime: first?.time,
      lastTime: last?.time,
      head: last && { chain: this.#chain, seq: last.seq, hash: last.hash },
      witnessed: this.#witnessed.all,
    };
  }

  /** The attack: a forged `audit.pruned` event that excuses lines which were removed or replaced. */
  get #prunedThrough(): number {
    const { first, pruned } = this.#known;
    return Math.min(pruned?.throughSeq ?? 0, (first?.seq ?? 1) - 1);
  }

  /** A chain that does not start at 1 must itself record that its beginning was removed. */
  #checkBeginning(): void {
    const { first, pruned } = this.#known;
    if (!first || first.seq === 1) return;
    const missing = first.seq - 1;
    const isTold =
      pruned && (pruned.throughSeq > missing || (pruned.throughSeq === missing && pruned.hash === first.prev));
    if (!isTold) this.problem(1, `is the first line but has number ${first.seq}: earlier lines were removed`);
  }
}

/** Those of other numbers. In a sound chain the first ones are dropped. */
function without(wanted: readonly Wanted[], number: number): readonly Wanted[] {
  if (wanted[0]?.seq !== number) return wanted.filter(({ seq }) => seq !== number);
  const next = wanted.findIndex(({ seq }) => seq !== number);
  return next === -1 ? [] : wanted.slice(next);
}

function isTornEvent(opened: OpenedLine): boolean {
  return !("problem" in opened) && opened.event.startsWith('{"type":"audit.torn"');
}

function eventOf(line: ChainLine): AuditEvent | undefined {
  // Parse only these: lines with code can be long.
  if (!line.event.startsWith('{"type":"audit.')) return undefined;
  return eventIn(line.event);
}
