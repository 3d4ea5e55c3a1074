import { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { deadline } from "../../../lib/waiting/deadline.ts";
import { ackPacket, dataPacket, PacketDecoder, pingPacket } from "./link-packets.ts";

/** Unconfirmed bytes in each direction, as in `entry/pod_link.py`. */
const windowBytes = 1024 * 1024;
const ackEvery = 128 * 1024;
const pieceBytes = 64 * 1024;
const longestGreeting = 64;
/** how long one attempt to connect again may take */
const attemptMs = 10_000;
/** how often a pod is asked whether it is still there */
const beatMs = 7_500;
/** so many questions without an answer, and the connection counts as broken */
const silentBeats = 2;
/** so many connections in a row that say nothing but a greeting, and the pod counts as lost */
const mostSilentOnes = 2;
/** a connection that ends earlier counts as short */
const shortMs = 5_000;
/** so many short connections in a row are replaced at once */
const freeShortOnes = 20;
const longestPauseMs = 2_000;

/** Opens one connection to the pod's listener. */
export type Connect = (signal: AbortSignal) => Promise<Duplex>;

export interface LinkOptions {
  readonly connect: Connect;
  /** shows the pod that this is the gateway that started it */
  readonly ticket: string;
  /** without a connection for this long, the link is lost; the pod gives up a little later */
  readonly patienceMs: number;
  /** called each time a connection is replaced */
  readonly onResumed?: () => void;
  /** default: 7.5 s */
  readonly beatMs?: number;
}

/**
 * The gateway's end of the connection to a pod. When it breaks, it connects again and sends what the pod has not confirmed, so
 * that no byte is lost or doubled. Whoever uses this stream notices only a pause.
 */
export class PodLink extends Duplex {
  readonly #options: LinkOptions;
  readonly #stop = new AbortController();
  #carrier: Duplex | undefined;
  #received = 0;
  #told = 0;
  #confirmed = 0;
  /** what the pod may not have received */
  #unconfirmed: Buffer[] = [];
  #unconfirmedBytes = 0;
  #writer: (() => void) | undefined;
  #connectedAtMs = 0;
  #shortOnes = 0;
  #unanswered = 0;
  #silentOnes = 0;
  readonly #beat: NodeJS.Timeout;

  private constructor(options: LinkOptions) {
    super({ allowHalfOpen: false });
    this.#options = options;
    this.#beat = setInterval(() => this.#ask(), options.beatMs ?? beatMs).unref();
  }

  /** Connects for the first time. Fails if that fails. */
  static async open(options: LinkOptions, signal: AbortSignal): Promise<PodLink> {
    const link = new PodLink(options);
    try {
      await link.#connect(signal);
      return link;
    } catch (error) {
      link.destroy();
      throw error;
    }
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const { connect, ticket } = this.#options;
    const carrier = await connect(signal);
    try {
      carrier.write(`codecell ${ticket} ${this.#received}\n`);
      const has = await greeting(carrier, signal);
      if (!(has >= this.#confirmed && has <= this.#confirmed + this.#unconfirmedBytes)) {
        throw new Error("the pod has bytes that it was never sent");
      }
      this.#confirm(has);
    } catch (error) {
      carrier.destroy();
      throw error;
    }
    this.#told = this.#received;
    this.#carry(carrier);
  }

  #carry(carrier: Duplex): void {
    const decoder = new PacketDecoder();
    this.#carrier = carrier;
    this.#connectedAtMs = performance.now();
    this.#unanswered = 0;
    carrier.on("error", () => {});
    carrier.on("drain", () => this.#release());
    carrier.on("data", (data: Buffer) => {
      if (this.#carrier !== carrier) return;
      this.#unanswered = this.#silentOnes = 0;
      try {
        for (const packet of decoder.push(data)) {
          if (packet.kind === "data") this.#take(packet.data);
          else this.#acknowledged(packet.count);
        }
      } catch (error) {
        this.destroy(error as Error);
      }
    });
    carrier.once("close", () => {
      if (this.#carrier !== carrier) return;
      this.#carrier = undefined;
      if (!this.destroyed) void this.#reconnect();
    });
    for (const piece of this.#unconfirmed) carrier.write(dataPacket(piece));
    this.#release();
    if (carrier.destroyed) {
      this.#carrier = undefined;
      void this.#reconnect();
    }
  }

  /**
   * Behind an unplugged node, nothing ends a connection: a run without output would go on until its time limit. Counting questions
   * instead of seconds spares a pod whose answer waits here while this process is busy.
   */
  #ask(): void {
    const carrier = this.#carrier;
    if (carrier === undefined) return;
    if (carrier.isPaused()) this.#unanswered = 0; // the session is slow, and an answer would not be read
    if (this.#unanswered >= silentBeats) {
      this.#silentOnes += 1;
      if (this.#silentOnes > mostSilentOnes) this.destroy(new Error("the pod accepts connections and answers nothing"));
      else carrier.destroy();
      return;
    }
    this.#unanswered += 1;
    carrier.write(pingPacket());
  }

  async #reconnect(): Promise<void> {
    const { patienceMs, onResumed } = this.#options;
    const until = performance.now() + patienceMs;
    const { signal } = this.#stop;
    let failure: unknown;
    // The attack: a pod that greets and hangs up, for ever, would keep the gateway and the API server busy with new connections.
    this.#shortOnes = performance.now() - this.#connectedAtMs < shortMs ? this.#shortOnes + 1 : 0;
    if (this.#shortOnes > freeShortOnes) await pause(longestPauseMs, undefined, { signal }).catch(() => {});
    for (
      let pauseMs = 50;
      performance.now() < until && !signal.aborted;
      pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    ) {
      try {
        // Also a pod that accepts the connection and says nothing has no more than the link's patience.
        using limit = deadline(Math.min(attemptMs, until - performance.now()), signal);
        await this.#connect(limit.signal);
        onResumed?.();
        return;
      } catch (error) {
        failure = error;
        await pause(pauseMs, undefined, { signal }).catch(() => {});
      }
    }
    if (!signal.aborted)
      this.destroy(new Error("the connection to the pod broke and did not come back", { cause: failure }));
  }

  #take(data: Buffer): void {
    this.#received += data.length;
    if (this.#received - this.#told >= ackEvery) {
      this.#told = this.#received;
      this.#carrier?.write(ackPacket(this.#received));
    }
    if (!this.push(data)) this.#carrier?.pause();
  }

  #acknowledged(count: number): void {
    if (count < this.#confirmed || count > this.#confirmed + this.#unconfirmedBytes) {
      throw new Error("the pod confirmed bytes that it was never sent");
    }
    this.#confirm(count);
  }

  #confirm(count: number): void {
    let left = count - this.#confirmed;
    this.#confirmed = count;
    this.#unconfirmedBytes -= left;
    while (left > 0) {
      const [first] = this.#unconfirmed;
      if (first === undefined) break;
      if (first.length <= left) this.#unconfirmed.shift();
      else this.#unconfirmed[0] = first.subarray(left);
      left -= Math.min(left, first.length);
    }
    this.#release();
  }

  /** The attack: a pod that confirms what it has not read yet. What was written to the connection then waits in memory here. */
  get #hasRoom(): boolean {
    return this.#unconfirmedBytes < windowBytes && (this.#carrier?.writableLength ?? 0) < 2 * windowBytes;
  }

  #release(): void {
    if (this.#hasRoom) this.#writer?.();
  }

  override _read(): void {
    this.#carrier?.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      const piece = chunk.subarray(at, at + pieceBytes);
      this.#unconfirmed.push(piece);
      this.#unconfirmedBytes += piece.length;
      this.#carrier?.write(dataPacket(piece));
    }
    if (this.#hasRoom) {
      callback();
      return;
    }
    this.#writer = () => {
      this.#writer = undefined;
      callback();
    };
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "utf8", callback);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#stop.abort();
    clearInterval(this.#beat);
    const carrier = this.#carrier;
    this.#carrier = undefined;
    carrier?.destroy();
    callback(error);
  }
}

/** The pod's first line: how many bytes it has received. What follows stays in the stream. */
function greeting(carrier: Duplex, signal: AbortSignal): Promise<number> {
  let seen = Buffer.alloc(0);
  return new Promise((resolve, reject) => {
    const end = (act: () => void) => {
      carrier.off("readable", onReadable).off("close", closed).off("error", closed);
      signal.removeEventListener("abort", aborted);
      act();
    };
    const closed = () => end(() => reject(new Error("the pod closed the connection")));
    const aborted = () => end(() => reject(signal.reason ?? new Error("aborted")));
    const onReadable = () => {
      for (let data = carrier.read(); data !== null; data = carrier.read()) {
        seen = Buffer.concat([seen, data]);
        const at = seen.indexOf(10);
        if (at < 0 && seen.length <= longestGreeting) continue;
        const count = /^ok (\d{1,15})$/.exec(seen.subarray(0, Math.max(at, 0)).toString("latin1"))?.[1];
        if (count === undefined) return end(() => reject(new Error("the pod sent no greeting")));
        const rest = seen.subarray(at + 1);
        if (rest.length > 0) carrier.unshift(rest);
        return end(() => resolve(Number(count)));
      }
    };
    carrier.on("readable", onReadable).once("close", closed).once("error", closed);
    signal.addEventListener("abort", aborted, { once: true });
    if (signal.aborted) aborted();
  });
}
