import type { Duplex } from "node:stream";
import type { KernelSetup } from "../kernel/messages.ts";
import type { ModuleHint } from "../kernel/preload-failure.ts";
import type { Cleanup } from "../lib/cleanup.ts";
import type { CodecellError } from "../lib/errors.ts";
import type { CellUsage } from "./cell-usage.ts";
import type { DiskWatch } from "./linux/disk/disk-watch.ts";
import type { EnforcementReceipt } from "./receipt.ts";
import type { Carrier, Cell, CellDisk, CellExit } from "./runner.ts";

const endingMs = 5_000;

/** The usage of a cell that cannot be measured. */
export const noUsage: CellUsage = {
  memoryBytes: undefined,
  peakMemoryBytes: undefined,
  cpuMs: undefined,
  oomKills: 0,
};

export interface ChannelCellParts {
  readonly id: string;
  readonly channel: Duplex;
  readonly setup: KernelSetup;
  readonly receipt: EnforcementReceipt;
  readonly exited: Promise<CellExit>;
  /** how long after its end the reason may take to be known */
  readonly exitKnownMs?: number;
  readonly carrier?: Carrier;
  readonly moduleHint?: ModuleHint;
  /** the limit of its host directory, if it has one; a watch begins with the cell */
  readonly disk?: (CellDisk & Partial<Pick<DiskWatch, "watch">>) | undefined;
  readonly usage: () => Promise<CellUsage>;
  readonly giveWay?: ((givesWay: boolean) => void) | undefined;
  /** releases what was only needed for the start */
  readonly onReady?: (() => void) | undefined;
  /** kills a cell that does not exit after its channel is closed */
  readonly kill: () => void;
  /** kills what is in it, so that it exits before it notices its closed channel */
  readonly hasten?: (() => unknown) | undefined;
  readonly cleanup: Cleanup;
}

/** A cell that exits when its channel closes. If it does not, it is killed. */
export class ChannelCell implements Cell {
  readonly id: string;
  readonly channel: Duplex;
  readonly setup: KernelSetup;
  readonly receipt: EnforcementReceipt;
  readonly exited: Promise<CellExit>;
  readonly exitKnownMs: number | undefined;
  readonly carrier: Carrier;
  readonly moduleHint?: ModuleHint;
  readonly disk?: CellDisk;
  readonly #parts: ChannelCellParts;
  #reason: CodecellError | undefined;
  #ending: Promise<void> | undefined;

  constructor(parts: ChannelCellParts) {
    this.id = parts.id;
    this.channel = parts.channel;
    this.setup = parts.setup;
    this.receipt = parts.receipt;
    this.exited = parts.exited.then((exit) => (this.#reason ? { ...exit, reason: this.#reason } : exit));
    this.exitKnownMs = parts.exitKnownMs;
    this.carrier = parts.carrier ?? { kind: "streams" };
    if (parts.moduleHint) this.moduleHint = parts.moduleHint;
    if (parts.disk) this.disk = parts.disk;
    this.#parts = parts;
    parts.disk?.watch?.(this);
  }

  async usage(): Promise<CellUsage> {
    const [usage, diskBytes] = await Promise.all([
      this.#parts.usage(),
      this.#parts.disk?.usedBytes().catch(() => undefined), // its directory is gone
    ]);
    return diskBytes === undefined ? usage : { ...usage, diskBytes };
  }

  giveWay(givesWay: boolean): void {
    this.#parts.giveWay?.(givesWay);
  }

  isReady(): void {
    this.#parts.onReady?.();
  }

  get endedFor(): CodecellError | undefined {
    return this.#reason;
  }

  /** Ends the cell for a reason, which `exited` then carries. */
  endFor(reason: CodecellError): Promise<void> {
    this.#reason ??= reason;
    return this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    this.channel.end();
    this.channel.resume();
    this.#parts.hasten?.();
    const timer = setTimeout(() => this.#parts.kill(), endingMs);
    await this.exited;
    clearTimeout(timer);
    this.channel.destroy();
    await this.#parts.cleanup[Symbol.asyncDispose]();
  }
}
