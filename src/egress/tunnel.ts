import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { maxHelloBytes, readClientHello } from "./client-hello.ts";
import { type Denial, deny } from "./decide.ts";
import type { Exchange } from "./exchange.ts";
import type { EgressLimits } from "./limits.ts";
import { sayGoodbye } from "./say-goodbye.ts";
import { takeTurns } from "./take-turns.ts";

export interface TunnelParts {
  readonly client: Duplex;
  /** bytes that came with the request: they are checked like all others */
  readonly early: Buffer;
  readonly upstream: Socket;
  readonly host: string;
  readonly needsTls: boolean;
  readonly exchange: Exchange;
  readonly limits: EgressLimits;
  readonly onRefused: (denial: Denial) => void;
}

/** A fatal TLS alert, unrecognized_name: the client was told 200 already and now speaks TLS. */
const unrecognizedName = Buffer.from([21, 3, 1, 0, 2, 2, 112]);

/** Carries bytes both ways once the client's first ones are found to be meant for the host it asked for. */
export function openTunnel(parts: TunnelParts): void {
  const { client, upstream, exchange, limits } = parts;
  const stop = () => {
    client.destroy();
    upstream.destroy();
  };
  exchange.stopsBy(stop);
  upstream.setTimeout(limits.idleMs, () => exchange.cut("nothing moved for too long"));
  const halfClosed = () => upstream.setTimeout(limits.halfClosedMs);
  client.once("end", halfClosed);
  upstream.once("end", halfClosed);
  client.once("close", () => upstream.destroy());
  upstream.once("close", () => {
    if (!client.writableEnded) client.destroy();
    exchange.end();
  });
  if (client.destroyed || upstream.destroyed) {
    stop();
    return;
  }
  upstream.on("data", (bytes: Buffer) => exchange.received(bytes.length));
  upstream.pipe(client); // where no rule asks for TLS, the server may be the one to speak first
  takeTurns(upstream, client);
  admitClient(parts, (checked) => {
    exchange.sent(checked.length);
    upstream.write(checked);
    client.on("data", (bytes: Buffer) => exchange.sent(bytes.length));
    client.pipe(upstream);
    takeTurns(client, upstream);
  });
}

/** Holds the client's bytes back until its ClientHello is whole and names the host. */
function admitClient(parts: TunnelParts, admit: (checked: Buffer) => void): void {
  const { client, host, needsTls, limits, onRefused } = parts;
  let held = parts.early;
  const timer = needsTls ? setTimeout(() => refuse("the TLS hello did not come in time"), limits.helloMs) : undefined;
  const done = () => {
    clearTimeout(timer);
    client.off("data", look);
    client.off("end", ended);
  };
  const refuse = (reason: string) => {
    done();
    parts.upstream.unpipe(client);
    sayGoodbye(client, unrecognizedName);
    parts.upstream.destroy();
    onRefused(deny("server_name", reason, `connect with TLS and the server name ${host}`));
  };
  const look = (bytes: Buffer) => {
    held = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
    const verdict = judge(held, host, needsTls);
    if (verdict === "more") return;
    if (verdict !== "admitted") return refuse(verdict.refused);
    done();
    client.pause();
    admit(held);
  };
  const ended = () => {
    done();
    parts.upstream.end();
  };
  client.on("data", look);
  client.once("end", ended);
  client.once("close", () => clearTimeout(timer));
  if (held.length > 0) {
    const early = held;
    held = Buffer.alloc(0);
    look(early);
  }
}

function judge(held: Buffer, host: string, needsTls: boolean): "more" | "admitted" | { refused: string } {
  const hello = readClientHello(held);
  switch (hello.kind) {
    case "more":
      return held.length > maxHelloBytes ? { refused: "the TLS hello is too long" } : "more";
    case "not_tls":
      return needsTls ? { refused: `what was sent to ${host} is not TLS` } : "admitted";
    case "malformed":
      return { refused: hello.why };
    case "hello":
      // The name in the clear is not the one that counts then.
      if (hello.isEncrypted) return { refused: "an encrypted TLS hello hides the server name" };
      if (hello.serverName === undefined) return { refused: "the TLS hello names no server" };
      if (hello.serverName !== host) return { refused: `the TLS server name is not ${host}` };
      return "admitted";
  }
}
