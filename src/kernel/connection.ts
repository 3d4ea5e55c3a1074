import type { Duplex } from "node:stream";
import { CodecellError, messageOf } from "../lib/errors.ts";
import { DeadlinePassed, deadline } from "../lib/waiting/deadline.ts";
import { encodeFrame, encodeFrameHead, encodeTextFrame, type Frame, FrameDecoder } from "./frames.ts";
import { type CellMessage, cellMessage, type HostMessage, type KernelSetup, type NetMessage } from "./messages.ts";
import { NetStreams } from "./net-streams.ts";
import { plainDone } from "./plain-done.ts";

export interface KernelInfo {
  readonly python: string;
  readonly languages: readonly string[];
  /** what this kernel supports beyond runs and variables: checkpoints, fork, snapshot, changes, files */
  readonly features: readonly string[];
}

/** What the processes of a cell use, as its supervisor counts it. */
export interface KernelUsage {
  readonly cpuMs: number;
  readonly memoryBytes: number;
  readonly peakMemoryBytes: number;
}

/** One interpreter in the cell. It receives the messages that are addressed to it. */
export interface Branch {
  onMessage(message: CellMessage, body: Uint8Array): void;
  onFailure(error: CodecellError): void;
}

/** Called for each connection that a program in the cell makes to its proxy. */
export type OnStream = (stream: Duplex) => void;

export interface ConnectionOptions {
  readonly signal?: AbortSignal;
  /** gives the cell its network; set only if the policy enables it */
  readonly onStream?: OnStream;
  /** a file with certificate authorities, for the cell's TLS clients */
  readonly authorities?: { readonly path: string; readonly content: Uint8Array } | undefined;
}

const startTimeoutMs = 60_000;
/** Up to this size, copying the body is cheaper than a second write. */
const smallBodyBytes = 8 * 1024;

/**
 * A cell's channel. It sends frames, validates each message from the cell and passes it to its branch. A cell that breaks
 * the protocol is disconnected.
 */
export class KernelConnection {
  readonly #channel: Duplex;
  readonly #decoder = new FrameDecoder();
  readonly #branches = new Map<number, Branch>();
  #failure: CodecellError | undefined;
  #ready: { resolve: () => void; reject: (error: Error) => void } | undefined;
  #info: KernelInfo = { python: "", languages: [], features: [] };
  #latestBranch = 0;
  #usage: PendingUsage | undefined;
  readonly #streams: NetStreams | undefined;
  readonly #take = (frame: Frame) => this.#onFrame(frame);

  private constructor(channel: Duplex, onStream: OnStream | undefined) {
    this.#channel = channel;
    this.#streams = onStream && new NetStreams(channel, (...sent) => this.send(0, ...sent), onStream);
    channel.on("data", (bytes: Buffer) => this.#receive(bytes));
    channel.on("error", (error) => {
      this.fail(new CodecellError("cell_lost", "the connection to the cell broke", { cause: error }));
    });
    channel.on("close", () => this.fail(cellEnded()));
    channel.on("end", () => this.fail(cellEnded()));
    channel.resume(); // a runner that read the beginning itself has paused it, and a listener alone does not undo that
  }

  /** Sets the worker up and returns when it is ready for code. */
  static async open(channel: Duplex, setup: KernelSetup, options: ConnectionOptions = {}): Promise<KernelConnection> {
    const connection = new KernelConnection(channel, options.onStream);
    using limit = deadline(startTimeoutMs, options.signal);
    await new Promise<void>((resolve, reject) => {
      connection.#ready = { resolve, reject };
      const giveUp = () => {
        const { reason } = limit.signal;
        const code = reason instanceof DeadlinePassed ? "cell_start_failed" : "aborted";
        reject(new CodecellError(code, `the start was aborted: ${messageOf(reason)}`));
      };
      limit.signal.addEventListener("abort", giveUp);
      // Events that fired before these listeners were added are not repeated, so check the state once.
      if (limit.signal.aborted) giveUp();
      if (channel.destroyed || channel.readableEnded) connection.fail(cellEnded());
      const { authorities } = options;
      const parts = {
        ...(options.onStream ? { egress: true } : {}),
        ...(authorities ? { authorities: authorities.path } : {}),
      };
      connection.send(0, { t: "start", ...setup, ...parts }, authorities ? [authorities.content] : []);
    });
    return connection;
  }

  get info(): KernelInfo {
    return this.#info;
  }

  get failure(): CodecellError | undefined {
    return this.#failure;
  }

  /** A number that no branch of this cell has had before. */
  newBranch(): number {
    return ++this.#latestBranch;
  }

  attach(number: number, branch: Branch): void {
    this.#branches.set(number, branch);
  }

  detach(number: number): void {
    this.#branches.delete(number);
  }

  /** Undefined: this kernel does not count. Calls while one is unanswered share its answer. */
  async usage(): Promise<KernelUsage | undefined> {
    if (this.#failure) throw this.#failure;
    if (!this.#info.features.includes("usage")) return undefined;
    if (this.#usage === undefined) {
      this.#usage = pendingUsage();
      this.send(0, { t: "usage", id: 0 });
    }
    return await this.#usage.answer;
  }

  send(branch: number, message: HostMessage, body: readonly Uint8Array[] = [], flushed?: () => void): void {
    const size = body.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const header = branch === 0 ? message : { ...message, branch };
    if (size <= smallBodyBytes) {
      this.#channel.write(encodeFrame(header, body, size)); // one write is one system call
      flushed?.();
      return;
    }
    this.#channel.cork();
    this.#channel.write(encodeFrameHead(header, size));
    body.forEach((piece, at) => {
      this.#channel.write(piece, at === body.length - 1 ? () => flushed?.() : undefined);
    });
    this.#channel.uncork();
  }

  /** The same with a text as the body. */
  sendText(branch: number, message: HostMessage, text: string): void {
    const bytes = Buffer.byteLength(text);
    if (bytes > smallBodyBytes) this.send(branch, message, [Buffer.from(text)]);
    else this.#channel.write(encodeTextFrame(branch === 0 ? message : { ...message, branch }, text, bytes));
  }

  /** Disconnects the cell after it did not answer or broke the protocol. */
  abandon(error: CodecellError): void {
    this.fail(error);
    this.#channel.destroy();
  }

  fail(error: CodecellError): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#ready?.reject(error);
    this.#streams?.close();
    this.#usage?.reject(error);
    for (const branch of this.#branches.values()) branch.onFailure(error);
  }

  #receive(bytes: Buffer): void {
    if (this.#failure) return;
    try {
      this.#decoder.push(bytes, this.#take);
    } catch (error) {
      this.abandon(error instanceof CodecellError ? error : new CodecellError("internal", messageOf(error)));
    }
  }

  #onFrame({ header, body }: Frame): void {
    const done = plainDone(header);
    if (done) {
      this.#branches.get(branchOf(header))?.onMessage(done, body);
      return;
    }
    const parsed = cellMessage.safeParse(header);
    if (!parsed.success) {
      throw new CodecellError("cell_lost", "the cell sent a message that is not part of the protocol");
    }
    const message = parsed.data;
    if (message.t === "hello") {
      this.#info = { python: message.python, languages: message.languages, features: message.features };
    } else if (message.t === "ready") {
      this.#ready?.resolve();
      this.#ready = undefined;
    } else if (message.t === "failed" && "branch" in (header as object)) {
      const lost = new CodecellError("cell_lost", `the interpreter could not continue: ${message.reason}`);
      this.#branches.get(branchOf(header))?.onFailure(lost);
    } else if (message.t === "failed") {
      // After the start, user code can forge this message, so it only means that the cell is lost.
      const code = this.#ready ? "cell_start_failed" : "cell_lost";
      this.fail(new CodecellError(code, `the cell could not be set up: ${message.reason}`));
    } else if (message.t === "usage") {
      const { cpuMs, memoryBytes, peakMemoryBytes } = message;
      this.#usage?.resolve({ cpuMs, memoryBytes, peakMemoryBytes });
      this.#usage = undefined;
    } else if (isNetMessage(message)) {
      if (!this.#streams) throw new CodecellError("cell_lost", "the cell sent network messages, but has no network");
      this.#streams.receive(message, body);
    } else {
      this.#branches.get(branchOf(header))?.onMessage(message, body);
    }
  }
}

interface PendingUsage {
  readonly answer: Promise<KernelUsage>;
  readonly resolve: (usage: KernelUsage) => void;
  readonly reject: (error: CodecellError) => void;
}

function pendingUsage(): PendingUsage {
  let resolve: PendingUsage["resolve"] = () => {};
  let reject: PendingUsage["reject"] = () => {};
  const answer = new Promise<KernelUsage>((...settle) => {
    [resolve, reject] = settle;
  });
  answer.catch(() => {}); // a caller may have stopped waiting
  return { answer, resolve, reject };
}

function cellEnded(): CodecellError {
  return new CodecellError("cell_lost", "the cell exited");
}

function isNetMessage(message: CellMessage): message is NetMessage {
  return message.t.startsWith("net.");
}

function branchOf(header: unknown): number {
  const branch = typeof header === "object" && header !== null && "branch" in header ? header.branch : 0;
  return typeof branch === "number" ? branch : 0;
}
