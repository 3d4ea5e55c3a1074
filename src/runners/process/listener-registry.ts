import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type Frame, FrameDecoder } from "../../kernel/frames.ts";
import { deadline } from "../../lib/deadline.ts";
import { PassedListener } from "../../lib/passed-listener.ts";
import type { Carrier } from "../runner.ts";

/** Where programs of a cell find their proxy. */
const proxyAddress = { address: "127.0.0.1", port: 3128 };
const defaultArrivalMs = 2_000;
const startMs = 60_000;

/** The registration of one cell. */
export interface Expected {
  /** what the cell names its socket by: nobody can guess another cell's */
  readonly ticket: string;
  readonly arrived: Promise<PassedListener | undefined>;
  /** what comes from now on is closed */
  cancel(): void;
}

/**
 * Where a jail's first processes hand their cells' sockets over: the message channel that Node opens to a child, the only
 * one on which it takes descriptors. Cells close their end before user code exists; what a forged message could say is
 * checked all the same. A socket without a ticket, with one that was used, or of another address is closed.
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

/** The cell's socket, if it comes; the cell keeps it until it is told, so nothing is lost when it does not. */
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
  // It may have come in the very moment in which it was given up.
  void expected.arrived.then((late) => late?.close());
  return { kind: "streams", reason: "the cell's socket did not reach the host" };
}

/** A cell sends its socket before it says hello; the time that the start itself takes does not count. */
async function lateness(channel: Duplex, arrivalMs: number, signal: AbortSignal): Promise<undefined> {
  try {
    await once(channel, "readable", { signal });
    if (saysHello(channel)) await sleep(arrivalMs, undefined, { signal });
  } catch {
    // given up, or broken: whoever reads the channel next says why
  }
  return undefined;
}

/** Looks at the first bytes and puts them back: a cell that could not be set up says so there, and sends no socket. */
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
    return false; // whoever reads the channel says what is wrong with it
  }
  return (
    header === undefined || (typeof header === "object" && header !== null && "t" in header && header.t === "hello")
  );
}
