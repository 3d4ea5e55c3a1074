import type { Duplex } from "node:stream";
import type { KernelSetup } from "../kernel/messages.ts";
import type { Cleanup } from "../lib/cleanup.ts";
import type { CodecellError } from "../lib/errors.ts";
import type { EnforcementReceipt } from "./receipt.ts";
import type { Carrier, Cell, CellExit, CellUsage } from "./runner.ts";

const endingMs = 5_000;

/** Where nothing is known about what a cell uses. */
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
  readonly carrier?: Carrier;
  readonly usage: () => Promise<CellUsage>;
  /** ends the cell when closing the channel did not */
  readonly kill: () => void;
  readonly cleanup: Cleanup;
}

/** A cell that ends when its channel closes; what does not end then is killed. */
export class ChannelCell implements Cell {
  readonly id: string;
  readonly channel: Duplex;
  readonly setup: KernelSetup;
  readonly receipt: EnforcementReceipt;
  readonly exited: Promise<CellExit>;
  readonly carrier: Carrier;
  readonly #parts: ChannelCellParts;
  #reason: CodecellError | undefined;
  #ending: Promise<void> | undefined;

  constructor(parts: ChannelCellParts) {
    this.id = parts.id;
    this.channel = parts.channel;
    this.setup = parts.setup;
    this.receipt = parts.receipt;
    this.exited = parts.exited.then((exit) => (this.#reason ? { ...exit, reason: this.#reason } : exit));
    this.carrier = parts.carrier ?? { kind: "streams" };
    this.#parts = parts;
  }

  usage(): Promise<CellUsage> {
    return this.#parts.usage();
  }

  /** Ends it for what it has done: whoever asks later is told so. */
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
    const timer = setTimeout(() => this.#parts.kill(), endingMs);
    await this.exited;
    clearTimeout(timer);
    this.channel.destroy();
    await this.#parts.cleanup[Symbol.asyncDispose]();
  }
}
