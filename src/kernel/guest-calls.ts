import { CodecellError, messageOf } from "../lib/errors.ts";
import { GuestFailure } from "../lib/guest-failure.ts";
import { ArgumentBytes } from "./argument-bytes.ts";
import { Credit } from "./credit.ts";
import type { CellMessage, GuestError, HostMessage } from "./messages.ts";

/** The kernel in the cell has the same numbers. */
const maxOpenCalls = 64; // the kernel refuses more, so more than twice as many come from a cell that breaks the protocol
const maxArgumentBytes = 16 * 1024 * 1024;
const answerWindowBytes = 1024 * 1024;
const pieceBytes = 256 * 1024;
/** Arguments of all open calls together: a flood of calls cannot fill the host's memory. */
const maxBufferedBytes = 64 * 1024 * 1024;
const maxAnswerBytes = 64 * 1024 * 1024;
const maxMessageCharacters = 4_000;

/** One call of a program to a function of the host. Everything in it is untrusted. */
export interface GuestCall {
  readonly run: number;
  /** unique within the interpreter */
  readonly call: number;
  readonly name: string;
  /** JSON, not parsed yet */
  readonly arguments: Buffer;
  /** aborted when the run ends before the answer */
  readonly signal: AbortSignal;
}

/** Answers calls with JSON. What it throws reaches the program as an exception. */
export type OnGuestCall = (call: GuestCall) => Promise<Uint8Array>;

interface Open {
  readonly run: number;
  readonly name: string;
  readonly size: number;
  readonly arguments: ArgumentBytes;
  readonly ending: AbortController;
  /** the host has all arguments and answers it */
  isComplete: boolean;
}

type CallMessage = Extract<CellMessage, { t: "call" }>;

/** The calls of one interpreter's programs to functions of the host. */
export class GuestCalls {
  readonly #send: (message: HostMessage, body?: Uint8Array) => void;
  readonly #answer: OnGuestCall;
  readonly #open = new Map<number, Open>();
  /** answers of one interpreter share one window, and are sent one after the other */
  readonly #credit = new Credit();
  #sending = Promise.resolve();
  #buffered = 0;
  #waitingSince: number | undefined;
  #waitedMs = 0;

  constructor(send: (message: HostMessage, body?: Uint8Array) => void, answer: OnGuestCall) {
    this.#send = send;
    this.#answer = answer;
    this.#credit.grant(answerWindowBytes);
  }

  /** Handles a piece of a call. `isRunning`: whether the run that it names is active. A forged or late one is ignored. */
  receive(message: CallMessage, body: Uint8Array, isRunning: boolean): void {
    if (!isRunning) return;
    const call = this.#open.get(message.call) ?? this.#begin(message);
    if (call === undefined) return;
    const { arguments: bytes } = call;
    if (bytes.received + body.byteLength > call.size || this.#buffered + body.byteLength > maxBufferedBytes) {
      throw new CodecellError("cell_lost", "the cell sent more arguments than it announced or than the host accepts");
    }
    if (call.isComplete) return; // the attack: an empty piece after the last one, which would start the call once more
    bytes.add(body);
    this.#buffered += body.byteLength;
    if (bytes.received < call.size) return;
    call.isComplete = true;
    void this.#run(message.call, call);
  }

  grant(bytes: number): void {
    this.#credit.grant(Math.min(bytes, answerWindowBytes));
  }

  /** Ends one call: an interrupt ended it in the program, which goes on. */
  drop(number: number): void {
    const call = this.#open.get(number);
    if (call) this.#close(number, call, "the program no longer waits for it");
  }

  /** Ends the calls of a run: nobody waits for their answers. */
  endRun(run: number): void {
    for (const [number, call] of this.#open) {
      if (call.run === run) this.#close(number, call, "the run has ended");
    }
    this.#waitedMs = 0;
  }

  /** The cell is gone. */
  close(): void {
    this.#credit.close();
    for (const [number, call] of this.#open) this.#close(number, call, "the cell exited");
  }

  /** How long the active run has waited for the host so far. */
  get waitedMs(): number {
    return this.#waitedMs + (this.#waitingSince === undefined ? 0 : performance.now() - this.#waitingSince);
  }

  #begin(message: CallMessage): Open | undefined {
    const { name, size, id: run } = message;
    if (name === undefined || size === undefined) return undefined; // the rest of a call that has ended
    if (size > maxArgumentBytes || this.#open.size >= 2 * maxOpenCalls) {
      throw new CodecellError("cell_lost", "the cell sent a call that exceeds the protocol's limits");
    }
    const ending = new AbortController();
    const call: Open = { run, name, size, arguments: new ArgumentBytes(size), ending, isComplete: false };
    if (this.#open.size === 0) this.#waitingSince = performance.now();
    this.#open.set(message.call, call);
    return call;
  }

  async #run(number: number, call: Open): Promise<void> {
    const request: GuestCall = {
      ...{ run: call.run, call: number, name: call.name, signal: call.ending.signal },
      arguments: call.arguments.bytes(),
    };
    try {
      const answer = await this.#answer(request);
      if (answer.byteLength > maxAnswerBytes) throw tooLarge(answer.byteLength);
      await this.#inTurn(number, call, () => this.#sendAnswer(number, call.run, answer));
    } catch (error) {
      await this.#inTurn(number, call, async () => {
        this.#send({ t: "answer", id: call.run, call: number, ok: false, error: errorOf(error) });
      });
    } finally {
      if (this.#open.get(number) === call) this.#close(number, call, "the call was answered");
    }
  }

  /** Answers do not interleave: a large one delays the next, and all of them respect the window. */
  #inTurn(number: number, call: Open, send: () => Promise<void>): Promise<void> {
    const turn = this.#sending.then(async () => {
      if (this.#open.get(number) === call && !this.#credit.isClosed) await send();
    });
    this.#sending = turn.catch(() => {});
    return turn;
  }

  async #sendAnswer(number: number, run: number, answer: Uint8Array): Promise<void> {
    const address = { t: "answer", id: run, call: number } as const;
    const first = { ...address, ok: true, size: answer.byteLength } as const;
    let isFirst = true;
    const sendPiece = (piece: Uint8Array) => {
      this.#send(isFirst ? first : address, piece);
      isFirst = false;
    };
    if (answer.byteLength === 0) sendPiece(answer);
    for (let at = 0; at < answer.byteLength; at += pieceBytes) {
      await this.#credit.spend(answer.subarray(at, at + pieceBytes), sendPiece);
    }
  }

  #close(number: number, call: Open, why: string): void {
    this.#open.delete(number);
    this.#buffered -= call.arguments.received;
    call.ending.abort(new CodecellError("aborted", why));
    if (this.#open.size > 0 || this.#waitingSince === undefined) return;
    this.#waitedMs += performance.now() - this.#waitingSince;
    this.#waitingSince = undefined;
  }
}

function tooLarge(bytes: number): GuestFailure {
  const limit = `${maxAnswerBytes / 1024 / 1024} MiB`;
  return new GuestFailure("ValueError", `the function returned ${bytes} bytes; the limit is ${limit}: ask for less`);
}

/** An internal error stays on the host: its message may name paths or secrets. */
function errorOf(error: unknown): GuestError {
  if (!(error instanceof GuestFailure)) return { type: "HostError", message: "the function failed on the host" };
  return { type: error.type, message: messageOf(error).slice(0, maxMessageCharacters) };
}
