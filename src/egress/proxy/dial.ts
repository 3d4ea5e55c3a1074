import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { messageOf } from "../../lib/errors.ts";
import { closedAddress, isSameAddress } from "../rules/address.ts";
import { type Denial, deny } from "../rules/decide.ts";
import type { Target } from "../rules/target.ts";
import type { LookupTurns } from "./lookup-turns.ts";

export type Dialled =
  | { readonly kind: "connected"; readonly socket: Socket }
  | { readonly kind: "denied"; readonly denial: Denial; readonly address: string }
  | { readonly kind: "failed"; readonly reason: string };

const maxAddresses = 4;

/**
 * Resolves a name once, checks every address, and connects to one of those addresses. The attack: DNS rebinding, where the
 * name server answers the check with one address and the connection with another.
 */
export async function dial(target: Target, lookups: LookupTurns, timeoutMs: number): Promise<Dialled> {
  const { host, port } = target;
  const end = performance.now() + timeoutMs;
  const found = await within(timeoutMs, (signal) => lookups.resolve(host, signal)).catch(() => []);
  if (found.length === 0) return { kind: "failed", reason: `${host} could not be resolved` };
  for (const { address, isFixed } of found) {
    const what = isFixed ? undefined : (closedAddress(address) ?? ownAddress(address));
    // The attack: a private address among public ones. If one is refused, none is dialled.
    if (what !== undefined) return { kind: "denied", denial: leadsInside(host, what), address };
  }
  let failure = "";
  for (const { address } of found.slice(0, maxAddresses)) {
    const left = end - performance.now();
    if (left <= 0) break;
    try {
      return { kind: "connected", socket: await connectTo(address, port, left) };
    } catch (error) {
      failure = (error as NodeJS.ErrnoException).code ?? messageOf(error);
    }
  }
  return { kind: "failed", reason: `${host}:${port} could not be reached (${failure || "timed out"})` };
}

function leadsInside(host: string, what: string): Denial {
  return deny(
    "address",
    `${host} resolves to an address that is not allowed: ${what}`,
    "only public addresses can be reached",
  );
}

/** The attack: reaching a service of this machine through its public address. */
function ownAddress(address: string): string | undefined {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some((one) => one.address === address) ? "the host itself" : undefined;
}

function connectTo(address: string, port: number, timeoutMs: number): Promise<Socket> {
  return new Promise((settle, reject) => {
    const socket = connect({ host: address, port, allowHalfOpen: true, autoSelectFamily: false, noDelay: true });
    const timer = setTimeout(() => socket.destroy(new Error("timed out")), timeoutMs);
    socket.once("error", reject);
    socket.once("close", () => clearTimeout(timer));
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.off("error", reject);
      socket.on("error", () => {}); // "close" follows; an error without a listener would crash the process
      if (isSameAddress(socket.remoteAddress ?? "", address)) return settle(socket);
      socket.destroy();
      reject(new Error("the connection reached another address"));
    });
  });
}

async function within<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController();
  const passed = new Promise<never>((_, reject) => {
    late.signal.addEventListener("abort", () => reject(late.signal.reason), { once: true });
  });
  const timer = setTimeout(() => late.abort(new Error("timed out")), timeoutMs);
  return Promise.race([work(late.signal), passed]).finally(() => clearTimeout(timer));
}
