import { connect, type Socket } from "node:net";
import { CodecellError } from "../../../lib/errors.ts";
import { socketProblem } from "../../../lib/files/warm-directory.ts";
import { asksAgain } from "../shell/asks-again.ts";
import { signalExitCodes } from "../shell/exit-codes.ts";
import type { Terminal, TerminalSignal } from "../shell/terminal.ts";
import { type Frame, FrameReader, frame } from "./frames.ts";
import type { RunRequest } from "./warm-request.ts";

export type HolderReply =
  | { readonly kind: "exited"; readonly exitCode: number }
  /** nothing was started, so the program may run elsewhere */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "absent" };

/** The largest output that a run can have, and more. */
const maxFrameBytes = 0xffff_ffff;
/** Nothing but opening a cell happens before the program is taken; a holder that takes longer is stuck. */
const takeWithinMs = 10_000;

/** Lets a holder run a program, with this terminal as if the program ran here. */
export async function callHolder(path: string, request: RunRequest, terminal: Terminal): Promise<HolderReply> {
  const problem = socketProblem(path);
  if (problem === "absent") return { kind: "absent" };
  if (problem === "foreign") return { kind: "refused", reason: `${path} is not private to this user` };
  const socket = await connected(path);
  if (socket === undefined) return { kind: "absent" }; // its owner was killed and left the file
  const call = new Call(socket, terminal);
  try {
    return await call.perform(request);
  } finally {
    call.end();
  }
}

function connected(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path, () => resolve(socket));
    socket.once("error", () => resolve(undefined));
  });
}

class Call {
  readonly #socket: Socket;
  readonly #terminal: Terminal;
  readonly #signals: TerminalSignal[] = [];
  readonly #listening: Disposable;
  #stdin: AsyncIterator<unknown> | undefined;
  #isTaken = false;
  #settle: (reply: HolderReply) => void = () => {};
  #fail: (error: Error) => void = () => {};

  constructor(socket: Socket, terminal: Terminal) {
    this.#socket = socket;
    this.#terminal = terminal;
    this.#listening = terminal.onSignal((signal) => this.#onSignal(signal));
  }

  async perform(request: RunRequest): Promise<HolderReply> {
    const timer = setTimeout(() => {
      if (!this.#isTaken) this.#settle({ kind: "refused", reason: "the background process does not answer" });
    }, takeWithinMs);
    try {
      return await this.#replyTo(request);
    } finally {
      clearTimeout(timer);
    }
  }

  end(): void {
    this.#listening[Symbol.dispose]();
    this.#socket.destroy();
    // What the program did not read keeps this process alive otherwise.
    if (this.#stdin !== undefined) this.#terminal.stdin.destroy();
  }

  #replyTo(request: RunRequest): Promise<HolderReply> {
    const reader = new FrameReader(maxFrameBytes);
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#fail = reject;
      this.#socket.on("data", (chunk: Buffer) => {
        try {
          for (const one of reader.push(chunk)) this.#on(one);
        } catch {
          this.#socket.destroy();
        }
      });
      this.#socket.on("error", () => {}); // `close` follows
      this.#socket.on("close", () => this.#onClosed());
      this.#socket.write(frame("request", JSON.stringify(request)));
    });
  }

  #on({ type, data }: Frame): void {
    if (type === "stdout" || type === "stderr") this.#terminal[type].write(data.toString());
    else if (type === "wantStdin") void this.#sendStdin();
    else if (type === "taken") this.#isTaken = true;
    else if (type === "exit") this.#settle({ kind: "exited", exitCode: Number(data.toString()) });
    else if (type === "refused") this.#settle(this.#signalled() ?? { kind: "refused", reason: data.toString() });
  }

  #onClosed(): void {
    const signalled = this.#signalled();
    if (signalled) this.#settle(signalled);
    else if (!this.#isTaken) this.#settle({ kind: "refused", reason: "the background process has just exited" });
    else {
      this.#fail(
        new CodecellError("cell_lost", "the background process that held the cell exited during the run", {
          hint: "run the program again; the next call with --warm starts a new process",
        }),
      );
    }
  }

  /** A signal ended the call: the program must not start elsewhere. */
  #signalled(): HolderReply | undefined {
    const signal = this.#signals.at(-1);
    return signal === undefined ? undefined : { kind: "exited", exitCode: signalExitCodes[signal] };
  }

  async #sendStdin(): Promise<void> {
    try {
      this.#stdin ??= this.#terminal.stdin[Symbol.asyncIterator]();
      const { done, value } = await this.#stdin.next();
      this.#socket.write(frame("stdin", done ? "" : (value as Buffer)));
    } catch {
      this.#socket.write(frame("stdin"));
    }
  }

  /** The holder decides what a signal means, as the command itself would. The third one does not wait for it. */
  #onSignal(signal: TerminalSignal): void {
    if (this.#signals.length > 0 && !asksAgain(signal)) return;
    this.#signals.push(signal);
    if (this.#signals.length > 2) this.#terminal.exitNow(signalExitCodes[signal]);
    else this.#socket.write(frame("signal", signal));
  }
}
