import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type Frame, FrameDecoder } from "../../kernel/frames.ts";
import { PassedListener } from "../../lib/passed-listener.ts";
import { deadline } from "../../lib/waiting/deadline.ts";
import type { Carrier } from "../runner.ts";

/** The proxy's address for programs in a cell. */
const proxyAddress = { address: "127.0.0.1", port: 3128 };
const defaultArrivalMs = 2_000;
const startMs = 60_000;

/** The registration of one cell. */
export interface Expected {
  /** identifies the cell's socket; random, so that a cell cannot guess another cell's */
  readonly ticket: string;
  readonly arrived: Promise<PassedListener | undefined>;
  /** closes a socket that arrives later */
  cancel(): void;
}

/**
 * Receives the cells' proxy sockets over Node's IPC channel to the jail, the only channel on which Node accepts descriptors.
 * Cells close their end before they run user code, but messages are validated all the same. A socket without a valid
 * ticket, with a used ticket or with another address is closed, so a cell cannot replace another cell's proxy socket.
 */
export class ListenerRegistry {
  readonly #expected: typeof proxyAddress;
  readonly #waiting = new Map<string, (listener: PassedListener | undefined) => void>();

  constructor(jail: ChildProcess, expected = proxyAddress) {
    this.#expected = expected;
    jail.on("message", (message, handle) => this.#receive(message, handle));
    jail.once("disconnect", () => {
      for (const settle of this.#waiting.values()) settle(undefined);
      this.#waiting.clear();
    });
    jail.channel?.unref();
  }

  expect(ticket = newTicket()): Expected {
    let settle: (listener: PassedListener | undefined) => void = () => {};
    const arrived = new Promise<PassedListener | undefined>((resolve) => {
      settle = resolve;
    });
    this.#waiting.set(ticket, settle);
    const cancel = () => {
      if (this.#waiting.delete(ticket)) settle(undefined);
    };
    return { ticket, arrived, cancel };
  }

  #receive(message: unknown, handle: unknown): void {
    const listener = PassedListener.from(handle);
    const ticket = typeof message === "object" && message && "ticket" in message ? message.ticket : undefined;
    const settle = typeof ticket === "string" ? this.#waiting.get(ticket) : undefined;
    if (!settle) {
      listener?.close();
      return;
    }
    this.#waiting.delete(ticket as string);
    if (listener?.address === this.#expected.address && listener.port === this.#expected.port) {
      settle(listener);
      return;
    }
    listener?.close();
    settle(undefined);
  }
}

export function newTicket(): string {
  return randomBytes(16).toString("hex");
}

/** The cell's socket, or streams if it does not arrive. The cell keeps its socket until it is told to close it. */
export async function takeListener(
  expected: Expected,
  channel: Duplex,
  { signal, arrivalMs = defaultArrivalMs }: { signal?: AbortSignal | undefined; arrivalMs?: number } = {},
): Promise<Carrier> {
  using limit = deadline(startMs, signal);
  const settled = new AbortController();
  limit.signal.addEventListener("abort", () => settled.abort(), { once: true });
  const listener = await Promise.race([expected.arrived, lateness(channel, arrivalMs, settled.signal)]);
  settled.abort();
  expected.cancel();
  if (listener) return { kind: "listener", listener };
  // It may have arrived at the moment of the timeout.
  void expected.arrived.then((late) => late?.close());
  return { kind: "streams", reason: "the cell's socket did not reach the host" };
}

/** Starts the timeout at the cell's hello, which comes after its socket, so the time of the start does not count. */
async function lateness(channel: Duplex, arrivalMs: number, signal: AbortSignal): Promise<undefined> {
  try {
    await once(channel, "readable", { signal });
    if (saysHello(channel)) await sleep(arrivalMs, undefined, { signal });
  } catch {
    // aborted or broken: the next reader of the channel reports why
  }
  return undefined;
}

/** Peeks at the first message. A cell whose setup failed sends an error there, and no socket. */
function saysHello(channel: Duplex): boolean {
  const first: Buffer | null = channel.read();
  if (first === null) return false;
  channel.unshift(first);
  let header: unknown;
  try {
    new FrameDecoder().push(first, (frame: Frame) => {
      header ??= frame.header;
    });
  } catch {
    return false; // the next reader of the channel reports the error
  }
  return (
    header === undefined || (typeof header === "object" && header !== null && "t" in header && header.t === "hello")
  );
}
