import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { SpillingWriter } from "../shell/spilling-writer.ts";
import type { Output, Terminal, TerminalSignal } from "../shell/terminal.ts";
import { frame } from "./frames.ts";
import type { RunRequest } from "./warm-request.ts";

/** The terminal of a caller, in the process that runs its program. */
export class RemoteTerminal implements Terminal {
  readonly stdin: Readable;
  readonly hasPipedStdin: boolean;
  readonly stdout: Output;
  readonly stderr: Output;
  /** what a caller may say about its environment: whether it wants colors */
  readonly env: Terminal["env"];
  readonly cwd = "/";
  readonly #socket: Socket;
  /** what the caller has not read yet waits in a file, and not in the memory of a process that many calls share */
  readonly #writer: SpillingWriter;
  readonly #handlers = new Set<(signal: TerminalSignal) => void>();
  #wantsStdin = false;

  constructor(socket: Socket, request: RunRequest) {
    this.#socket = socket;
    this.#writer = new SpillingWriter(socket);
    this.hasPipedStdin = request.hasStdin;
    this.stdin = new Readable({ read: () => this.#askForStdin() });
    this.stdout = this.#output("stdout", request.stdout);
    this.stderr = this.#output("stderr", request.stderr);
    this.env = request.hasColor ? {} : { NO_COLOR: "1" };
  }

  onSignal(handler: (signal: TerminalSignal) => void): Disposable {
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => void this.#handlers.delete(handler) };
  }

  exitNow(code: number): void {
    this.end(code);
  }

  /** Tells whoever runs the program about a signal of the caller. */
  signal(signal: TerminalSignal): void {
    for (const handler of this.#handlers) handler(signal);
  }

  /** A piece of stdin has arrived; empty: its end. False: nobody asked for it, which a real caller never does. */
  pushStdin(data: Buffer): boolean {
    if (!this.#wantsStdin) return false;
    this.#wantsStdin = false;
    this.stdin.push(data.byteLength === 0 ? null : data);
    return true;
  }

  /** Resolves when the OS has it, so that the caller learns it even if this process is killed next. */
  take(): Promise<void> {
    return new Promise((resolve) => this.#socket.write(frame("taken"), () => resolve()));
  }

  refuse(reason: string): void {
    this.#writer.write(frame("refused", reason));
  }

  /** The caller closes the connection when it has read everything up to here. */
  end(exitCode: number): void {
    this.#writer.write(frame("exit", String(exitCode)));
  }

  #askForStdin(): void {
    this.#wantsStdin = true;
    this.#writer.write(frame("wantStdin"));
  }

  #output(type: "stdout" | "stderr", { isTTY, columns }: RunRequest["stdout"]): Output {
    return {
      isTTY,
      columns: columns ?? Number.POSITIVE_INFINITY,
      write: (text) => this.#writer.write(frame(type, text)),
      writeBytes: async (bytes) => this.#writer.write(frame(type, bytes)),
    };
  }
}
