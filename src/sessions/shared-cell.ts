import type { CodecellError } from "../lib/errors.ts";
import { deadline } from "../lib/waiting/deadline.ts";
import { unlessAborted } from "../lib/waiting/unless-aborted.ts";
import type { Policy } from "../policy/schema.ts";
import type { CellUsage } from "../runners/cell-usage.ts";
import type { EnforcementReceipt } from "../runners/receipt.ts";
import type { Cell, CellDisk } from "../runners/runner.ts";
import { exitWithin } from "./ended-early.ts";
import { type UsageSample, UsageSamples } from "./lifecycle/usage-samples.ts";
import type { CellNetwork } from "./network/cell-network.ts";
import { CellPolicy } from "./rules/cell-policy.ts";
import { GiveWay } from "./runs/give-way.ts";

/** How long a result waits for the reason of an exit, unless the cell says that it takes longer. */
const reasonMs = 1_000;

/** How long anybody waits for the usage of a cell; later events of the audit wait with it. */
const spentMs = 1_000;

/** Undefined: the cell does not count either. */
type UsageInside = () => Promise<Pick<CellUsage, "memoryBytes" | "peakMemoryBytes" | "cpuMs"> | undefined>;

/** A cell with one session or several forks of it. It ends with the last of them. */
export class SharedCell {
  /** size and time of files that the host uploaded into the workspace */
  readonly given = new Map<string, string>();
  /** what it used, after each run and whenever somebody looked */
  readonly samples = new UsageSamples();
  /** the cell's network, if it has one */
  readonly network: CellNetwork | undefined;
  /** the policy that applies now */
  readonly rules: CellPolicy;
  readonly #cell: Cell;
  readonly #givesWay: GiveWay;
  readonly #onEnd: () => Promise<void>;
  readonly #inside: UsageInside;
  #users = 1;
  #oomKills = 0;
  #starts = 0;
  #countingKills: Promise<unknown> = Promise.resolve();
  #cpuMs = 0;
  /** the last question for its usage was not answered in time */
  #isSilent = false;
  #ending: Promise<void> | undefined;

  /** `onEnd` runs when the cell is gone. `inside` counts in the cell, for a runner that cannot count from outside. */
  constructor(
    cell: Cell,
    receipt: EnforcementReceipt,
    policy: Policy,
    onEnd: () => Promise<void> = async () => {},
    network?: CellNetwork,
    inside: UsageInside = async () => undefined,
  ) {
    this.network = network;
    this.#inside = inside;
    this.rules = new CellPolicy(policy, network?.receipt(receipt) ?? receipt, network);
    this.#cell = cell;
    this.#givesWay = new GiveWay((givesWay) => cell.giveWay?.(givesWay));
    this.#onEnd = onEnd;
  }

  get receipt(): EnforcementReceipt {
    return this.rules.receipt;
  }

  get users(): number {
    return this.#users;
  }

  async usage(): Promise<CellUsage> {
    const usage = await this.#cell.usage();
    return isMeasured(usage) ? usage : { ...usage, ...(await this.#insideSoon()) };
  }

  /** Undefined also for a supervisor that is stopped or lost: whoever asks for usage must not wait for it. */
  async #insideSoon(): ReturnType<UsageInside> {
    using limit = deadline(spentMs);
    return await unlessAborted(this.#inside(), limit.signal, "the cell did not say what it uses").catch(
      () => undefined,
    );
  }

  /** What the runner knows about an exit that the cell did not cause itself. */
  async whyEnded(): Promise<CodecellError | undefined> {
    return this.#cell.endedFor ?? (await exitWithin(this.#cell, this.#cell.exitKnownMs ?? reasonMs))?.reason;
  }

  /** The size limit of the workspace, if the file system does not enforce it. */
  get disk(): CellDisk | undefined {
    return this.#cell.disk;
  }

  /** What the cell has used after a run, and its processor time at the previous call. */
  async spent(): Promise<{ usage: CellUsage | undefined; cpuBeforeMs: number }> {
    const starts = this.#starts;
    // Not from inside the cell: its supervisor would keep the next run waiting.
    const usage = await this.#soon(() => this.#cell.usage());
    if (usage && isMeasured(usage)) this.samples.add(usage);
    // No run has started meanwhile, so these kills belong to earlier ones.
    if (usage && starts === this.#starts && this.#users === 1) this.#oomKills = usage.oomKills;
    const cpuBeforeMs = this.#cpuMs;
    this.#cpuMs = usage?.cpuMs ?? this.#cpuMs;
    return { usage, cpuBeforeMs };
  }

  /** Adds a sample of what it uses now; undefined: the runner did not answer in time. */
  async measure(): Promise<UsageSample | undefined> {
    const usage = await this.#soon(() => this.usage());
    return usage && this.samples.add(usage);
  }

  /** Undefined at once while an earlier question is unanswered: calls are queued, and each would wait as long again. */
  async #soon(ask: () => Promise<CellUsage>): Promise<CellUsage | undefined> {
    if (this.#isSilent) return undefined;
    const asked = ask().catch(() => undefined);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#isSilent = true;
        resolve(undefined);
      }, spentMs);
      void asked.then((usage) => {
        clearTimeout(timer);
        this.#isSilent = false;
        resolve(usage);
      });
    });
  }

  acquire(): this {
    this.#users++;
    return this;
  }

  /** Releases one use; the last one ends the cell and waits until it is gone. */
  async release(): Promise<void> {
    if (--this.#users === 0) await this.end();
  }

  /** Ends the cell for all sessions in it. */
  end(): Promise<void> {
    this.#ending ??= (async () => {
      try {
        await this.#cell[Symbol.asyncDispose]();
      } finally {
        this.#givesWay.close();
        await this.network?.[Symbol.asyncDispose]();
        await this.#onEnd();
      }
    })();
    return this.#ending;
  }

  /** Whether the OOM killer struck since the last call: only the Linux kernel's counter tells it from another SIGKILL. */
  struckByMemoryKiller(): Promise<boolean> {
    const counted = this.#countingKills.then(() => this.#countKills());
    this.#countingKills = counted;
    return counted;
  }

  /** A run starts: memory kills from now on may be its own. */
  runStarts(): void {
    this.#starts++;
    this.#givesWay.runStarts();
  }

  /** A run has ended, in whatever way. `isHarmful`: a limit ended it, or it crashed. */
  runEnds(isHarmful: boolean): void {
    this.#givesWay.runEnds(isHarmful);
  }

  /**
   * A run has ended and nobody waits: memory kills so far are not the next run's, such as that of a child process. Not at the start of
   * a run, which would wait for it.
   */
  runEnded(): void {
    setImmediate(() => void this.spent());
  }

  async #countKills(): Promise<boolean> {
    const usage = await this.#cell.usage().catch(() => undefined);
    const struck = usage !== undefined && usage.oomKills > this.#oomKills;
    this.#oomKills = usage?.oomKills ?? this.#oomKills;
    return struck;
  }
}

/** Whether the runner can count what the cell's processes use. */
function isMeasured({ memoryBytes, cpuMs }: CellUsage): boolean {
  return memoryBytes !== undefined || cpuMs !== undefined;
}
