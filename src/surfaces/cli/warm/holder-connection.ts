import type { Socket } from "node:net";
import { messageOf } from "../../../lib/errors.ts";
import type { Codecell } from "../../../sessions/codecell.ts";
import type { Session } from "../../../sessions/session.ts";
import { Plots } from "../plots/plots.ts";
import { type Program, runAndPrint } from "../sessions/run-and-print.ts";
import { signalExitCodes } from "../shell/exit-codes.ts";
import { Interruption } from "../shell/interruption.ts";
import { reportFailure } from "../shell/report-failure.ts";
import type { TerminalSignal } from "../shell/terminal.ts";
import { type Frame, FrameReader } from "./frames.ts";
import type { HolderFlags } from "./holder-settings.ts";
import { RemoteTerminal } from "./remote-terminal.ts";
import { type RunRequest, type WarmRequest, warmRequest } from "./warm-request.ts";

/** A program has at most 2 MiB, JSON escapes it, and arguments come on top. */
const maxFrameBytes = 32 * 1024 * 1024;
const requestWithinMs = 5_000;

/** What connections share. */
export interface Holder {
  readonly codecell: Codecell;
  readonly flags: HolderFlags;
  onAsked(request: WarmRequest, socket: Socket): void;
  onRun(running: Promise<void>): void;
}

/** One caller: a request, then a program that runs as if it ran in the caller's process. */
export class HolderConnection {
  readonly #holder: Holder;
  readonly #socket: Socket;
  readonly #reader = new FrameReader(maxFrameBytes);
  readonly #timer: NodeJS.Timeout;
  #terminal: RemoteTerminal | undefined;
  #hasAsked = false;

  constructor(holder: Holder, socket: Socket) {
    this.#holder = holder;
    this.#socket = socket;
    this.#timer = setTimeout(() => this.#hasAsked || socket.destroy(), requestWithinMs).unref();
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", () => {}); // `close` follows
    socket.on("close", () => this.#onClosed());
  }

  /** The holder stops, or the caller is gone: its program must not run on. */
  stop(signal: TerminalSignal): void {
    this.#terminal?.signal(signal);
  }

  #onClosed(): void {
    clearTimeout(this.#timer);
    this.stop("SIGHUP");
  }

  /** Anything but the expected frames ends the connection; the other callers do not notice. */
  #read(chunk: Buffer): void {
    try {
      for (const one of this.#reader.push(chunk)) if (!this.#accepts(one)) throw new Error(`unexpected ${one.type}`);
    } catch {
      this.#socket.destroy();
    }
  }

  #accepts({ type, data }: Frame): boolean {
    if (!this.#hasAsked) {
      if (type !== "request") return false;
      this.#hasAsked = true;
      this.#onRequest(warmRequest.parse(JSON.parse(data.toString())));
      return true;
    }
    if (type === "stdin") return this.#terminal?.pushStdin(data) ?? false;
    const signal = data.toString();
    if (type !== "signal" || !Object.hasOwn(signalExitCodes, signal)) return false;
    this.#terminal?.signal(signal as TerminalSignal);
    return true;
  }

  #onRequest(request: WarmRequest): void {
    if (request.ask !== "run") {
      this.#holder.onAsked(request, this.#socket);
      return;
    }
    const terminal = new RemoteTerminal(this.#socket, request);
    this.#terminal = terminal;
    this.#holder.onRun(this.#run(request, terminal).catch(() => void this.#socket.destroy()));
  }

  async #run(request: RunRequest, terminal: RemoteTerminal): Promise<void> {
    using interruption = new Interruption(terminal);
    let session: Session;
    try {
      session = await this.#holder.codecell.session();
    } catch (error) {
      return terminal.refuse(messageOf(error)); // the caller opens a cell itself, or reports why it cannot
    }
    const { codecell, flags } = this.#holder;
    const close = () => codecell.closeSession(session.id, { forget: true }).catch(() => {});
    interruption.signal.addEventListener("abort", () => void close(), { once: true });
    try {
      if (interruption.exitCode !== undefined) return terminal.end(interruption.exitCode);
      await terminal.take();
      const options = { ...flags, json: request.json, receipt: request.receipt };
      await using plots = await Plots.open(request.plots);
      const place = { terminal, interruption, plots };
      const exitCode = await runAndPrint(session, programOf(request, terminal), options, place);
      if (request.receipt && !request.json) terminal.stderr.write(heldNote);
      terminal.end(exitCode);
    } catch (error) {
      const code = interruption.exitCode ?? reportFailure(error, terminal, { json: request.json, verbose: false });
      terminal.end(code);
    } finally {
      await close();
    }
  }
}

const heldNote =
  `The cell was warm: codecell process ${process.pid} started it before this call, with the same policy and for one ` +
  "program, and enforces the rules of the host.\n";

function programOf({ code, from, language, args, file, beside }: RunRequest, terminal: RemoteTerminal): Program {
  const how = {
    language,
    ...(args === undefined ? {} : { args }),
    ...(file === undefined ? {} : { file }),
    ...(terminal.hasPipedStdin ? { stdin: terminal.stdin } : {}),
  };
  const place = { ...(file === undefined ? {} : { name: file }), ...(beside === undefined ? {} : { beside }) };
  return { code: { text: code, from, ...place }, how };
}
