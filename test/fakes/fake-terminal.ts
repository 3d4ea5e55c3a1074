import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { inject } from "vitest";
import type { Output, Terminal, TerminalSignal } from "../../src/surfaces/cli/shell/terminal.ts";

export interface FakeTerminalOptions {
  readonly stdin?: string;
  readonly isTTY?: boolean;
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}

export type FakeOutput = Output & {
  text: string;
  /** the output as bytes */
  bytes: Buffer;
};

/** The commands' state directory, so that tests do not use the developer's home directory. */
const stateHome = mkdtempSync(join(inject("stateHomes"), "t-"));

/** A terminal in memory, whose output tests can read and to which they can send signals. */
export class FakeTerminal implements Terminal {
  readonly stdin: Readable & { isTTY?: boolean };
  readonly hasPipedStdin: boolean;
  readonly stdout: FakeOutput;
  readonly stderr: FakeOutput;
  readonly env: Record<string, string>;
  readonly cwd: string;
  exitedWith: number | undefined;
  readonly #handlers = new Set<(signal: TerminalSignal) => void>();
  readonly #watchers = new Set<() => void>();

  constructor(options: FakeTerminalOptions = {}) {
    const isTTY = options.isTTY ?? false;
    this.stdin = Readable.from(options.stdin === undefined ? [] : [Buffer.from(options.stdin)]);
    this.hasPipedStdin = options.stdin !== undefined;
    this.stdout = this.#output(isTTY);
    this.stderr = this.#output(isTTY);
    this.env = { XDG_STATE_HOME: stateHome, ...options.env };
    this.cwd = options.cwd ?? "/nowhere";
  }

  onSignal(handler: (signal: TerminalSignal) => void): Disposable {
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => void this.#handlers.delete(handler) };
  }

  exitNow(code: number): void {
    this.exitedWith ??= code;
  }

  send(signal: TerminalSignal): void {
    for (const handler of this.#handlers) handler(signal);
  }

  /** Waits until this text is written to stdout. */
  async sees(text: string): Promise<void> {
    while (!this.stdout.text.includes(text)) {
      await new Promise<void>((resolve) => this.#watchers.add(resolve));
      this.#watchers.clear();
    }
  }

  #output(isTTY: boolean): FakeOutput {
    const changed = () => {
      for (const watcher of this.#watchers) watcher();
    };
    return {
      isTTY,
      columns: isTTY ? 100 : Number.POSITIVE_INFINITY,
      text: "",
      bytes: Buffer.alloc(0),
      async writeBytes(bytes) {
        this.bytes = Buffer.concat([this.bytes, bytes]);
        changed();
      },
      write(text) {
        this.text += text;
        changed();
      },
    };
  }
}
