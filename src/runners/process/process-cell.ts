import { once } from "node:events";
import type { Duplex } from "node:stream";
import type { Cleanup } from "../../lib/cleanup.ts";
import type { EnforcementReceipt } from "../receipt.ts";
import type { Cell, CellExit, CellUsage, KernelSetup } from "../runner.ts";
import type { CellCgroup } from "./cell-cgroup.ts";

const endingMs = 5_000;
const noUsage: CellUsage = { memoryBytes: undefined, peakMemoryBytes: undefined, cpuMs: undefined, oomKills: 0 };

export interface ProcessCellParts {
  readonly id: string;
  readonly channel: Duplex;
  readonly setup: KernelSetup;
  readonly receipt: EnforcementReceipt;
  readonly cgroup: CellCgroup | undefined;
  readonly exited: Promise<CellExit>;
  /** ends the cell when closing the channel did not */
  readonly kill: () => void;
  readonly cleanup: Cleanup;
}

/** A cell of either layout. It ends when its channel closes; what does not end then is killed. */
export class ProcessCell implements Cell {
  readonly id: string;
  readonly channel: Duplex;
  readonly setup: KernelSetup;
  readonly receipt: EnforcementReceipt;
  readonly exited: Promise<CellExit>;
  readonly #parts: ProcessCellParts;
  #ending: Promise<void> | undefined;

  constructor(parts: ProcessCellParts) {
    this.id = parts.id;
    this.channel = parts.channel;
    this.setup = parts.setup;
    this.receipt = parts.receipt;
    this.exited = parts.exited;
    this.#parts = parts;
  }

  async usage(): Promise<CellUsage> {
    return (await this.#parts.cgroup?.usage()) ?? noUsage;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    this.channel.end();
    this.channel.resume();
    const timer = setTimeout(() => {
      this.#parts.kill();
      void this.#parts.cgroup?.kill();
    }, endingMs);
    await this.exited;
    clearTimeout(timer);
    this.channel.destroy();
    await this.#parts.cleanup[Symbol.asyncDispose]();
  }
}

/** Settles when the other side has closed the channel, which the template does after the cell is gone. */
export async function channelClosed(channel: Duplex): Promise<void> {
  if (channel.closed || channel.readableEnded) return;
  await Promise.race([once(channel, "end"), once(channel, "close")]).catch(() => {});
}
