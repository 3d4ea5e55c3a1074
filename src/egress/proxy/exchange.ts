import type { EgressRequest } from "../rules/decide.ts";

/** One allowed request or tunnel, from the decision to its end. */
export class Exchange {
  readonly id: number;
  readonly request: EgressRequest;
  sentBytes = 0;
  receivedBytes = 0;
  /** the last report */
  reportedBytes = 0;
  /** its client was checked for TLS and for the server name in it */
  isHeldToTls = false;
  /** a connection to the server exists and was recorded */
  isConnected = false;
  readonly #onBytes: (sent: number, received: number) => void;
  readonly #onEnd: (exchange: Exchange, failure: string | undefined) => void;
  #stop: (() => void) | undefined;
  #hasEnded = false;

  constructor(
    id: number,
    request: EgressRequest,
    on: {
      bytes: (sent: number, received: number) => void;
      end: (exchange: Exchange, failure: string | undefined) => void;
    },
  ) {
    this.id = id;
    this.request = request;
    this.#onBytes = on.bytes;
    this.#onEnd = on.end;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  sent(bytes: number): void {
    this.sentBytes += bytes;
    this.#onBytes(bytes, 0);
  }

  received(bytes: number): void {
    this.receivedBytes += bytes;
    this.#onBytes(0, bytes);
  }

  /** How to cut it when the policy changes or a limit is reached. */
  stopsBy(stop: () => void): void {
    this.#stop = stop;
    if (this.#hasEnded) stop();
  }

  /** Cuts it now. */
  cut(reason: string): void {
    this.end(reason);
    this.#stop?.();
  }

  end(failure?: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#onEnd(this, failure);
  }
}
