import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Duplex, Readable, Writable } from "node:stream";
import type { KernelSetup } from "../../kernel/messages.ts";
import { CodecellError } from "../../lib/errors.ts";
import { killGroup } from "../../lib/kill-group.ts";
import type { CellUsage } from "../cell-usage.ts";
import type { EnforcementReceipt } from "../receipt.ts";
import type { Cell, CellExit } from "../runner.ts";
import type { ChildIdentity } from "./child-identity.ts";
import type { CellCommand } from "./command.ts";
import type { GuestReport } from "./guest/report.ts";
import { GuestLog } from "./guest-log.ts";
import { treeUsage } from "./process-usage.ts";
import { StdioChannel } from "./stdio-channel.ts";

export interface WasmCellParts {
  readonly id: string;
  readonly command: CellCommand;
  readonly identity: ChildIdentity;
  readonly setup: KernelSetup;
  readonly receipt: EnforcementReceipt;
  onReport(report: GuestReport): void;
}

/** One Node process with an interpreter in it. */
export class WasmCell implements Cell {
  readonly id: string;
  readonly channel: Duplex;
  readonly setup: KernelSetup;
  readonly receipt: EnforcementReceipt;
  readonly exited: Promise<CellExit>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  #isDisposed = false;
  #oomKills = 0;

  private constructor(parts: WasmCellParts, child: ChildProcessByStdio<Writable, Readable, Readable>) {
    this.id = parts.id;
    this.setup = parts.setup;
    this.receipt = parts.receipt;
    this.#child = child;
    this.channel = new StdioChannel(child.stdin, child.stdout);
    const log = new GuestLog((report) => parts.onReport(report));
    child.stderr.on("data", (chunk: Buffer) => log.push(chunk));
    this.exited = new Promise((resolve) => {
      child.on("close", (code, signal) => {
        const diagnostics = log.text;
        if (!this.#isDisposed && diedOfMemory(code, signal, diagnostics)) this.#oomKills = 1;
        resolve({ code, signal, diagnostics });
      });
    });
  }

  /** Starts the process. Its interpreter sends hello on the channel when it is ready. */
  static async start(parts: WasmCellParts): Promise<WasmCell> {
    const child = spawn(parts.command.program, parts.command.arguments, {
      ...parts.identity.spawn,
      env: {}, // keeps secrets in the host's environment out of the cell
      cwd: "/",
      stdio: ["pipe", "pipe", "pipe"],
      detached: true, // its own process group, so that all of it can be killed
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (cause) => {
        reject(new CodecellError("cell_start_failed", "the WASM cell's process did not start", { cause }));
      });
    });
    return new WasmCell(parts, child);
  }

  async usage(): Promise<CellUsage> {
    const { pid, exitCode, signalCode } = this.#child;
    const isGone = pid === undefined || exitCode !== null || signalCode !== null;
    // Wait for the exit, which says whether the cell ran out of memory.
    if (this.channel.readableEnded || this.channel.destroyed || isGone) await this.exited;
    const used = isGone ? undefined : await treeUsage(pid);
    return {
      memoryBytes: used?.memoryBytes,
      peakMemoryBytes: used?.peakMemoryBytes,
      cpuMs: used?.cpuMs,
      oomKills: this.#oomKills,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    killGroup(this.#child);
    // Without a reader, unread bytes would keep the streams open and delay the exit.
    this.channel.destroy();
    await this.exited;
  }
}

/** V8 prints it before it aborts. A SIGKILL from outside is the OOM killer's, which a wrapper reports as code 137. */
function diedOfMemory(code: number | null, signal: string | null, diagnostics: string): boolean {
  return signal === "SIGKILL" || code === 137 || /out of memory|allocation failed|bad_alloc/i.test(diagnostics);
}
