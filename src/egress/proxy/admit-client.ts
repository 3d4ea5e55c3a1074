import type { Duplex } from "node:stream";
import { type Denial, deny } from "../rules/decide.ts";
import type { EgressLimits } from "../rules/limits.ts";
import { maxHelloBytes, readClientHello } from "../tls/client-hello.ts";
import { sayGoodbye } from "./say-goodbye.ts";

export interface Admission {
  readonly client: Duplex;
  /** bytes that came with the request; checked like all others */
  readonly early: Buffer;
  readonly host: string;
  readonly needsTls: boolean;
  readonly limits: EgressLimits;
  /** gets all bytes so far once they are known to be for the host; the client is paused */
  readonly onAdmitted: (checked: Buffer) => void;
  /** called before the client gets the refusal */
  readonly onRefused: (denial: Denial) => void;
  /** the client ended before its ClientHello was complete */
  readonly onEnded: () => void;
}

/** A fatal TLS alert, unrecognized_name: the client already got a 200 and expects TLS. */
const unrecognizedName = Buffer.from([21, 3, 1, 0, 2, 2, 112]);

/** Holds the client's bytes back until its ClientHello is complete and names the host. */
export function admitClient({ client, early, host, needsTls, limits, ...on }: Admission): void {
  let pieces: Buffer[] = [];
  let [heldBytes, atLeast] = [0, 1];
  const timer = needsTls ? setTimeout(() => refuse("the TLS hello did not come in time"), limits.helloMs) : undefined;
  const done = () => {
    clearTimeout(timer);
    client.off("data", look);
    client.off("end", ended);
  };
  const refuse = (reason: string) => {
    done();
    on.onRefused(deny("server_name", reason, `connect with TLS and the server name ${host}`));
    sayGoodbye(client, unrecognizedName);
  };
  const look = (bytes: Buffer) => {
    pieces.push(bytes);
    heldBytes += bytes.length;
    // The attack: a hello of 64 KiB that comes byte by byte, and is joined and parsed again for each of them.
    if (heldBytes < atLeast) return;
    const held = pieces.length === 1 ? bytes : Buffer.concat(pieces, heldBytes);
    pieces = [held];
    const verdict = judge(held, host, needsTls);
    if (typeof verdict === "number") {
      atLeast = verdict;
      return;
    }
    if (verdict !== "admitted") return refuse(verdict.refused);
    done();
    client.pause();
    on.onAdmitted(held);
  };
  const ended = () => {
    done();
    on.onEnded();
  };
  client.on("data", look);
  client.once("end", ended);
  client.once("close", () => clearTimeout(timer));
  if (early.length > 0) look(early);
}

/** A number: how many bytes there must be at least for another answer. */
function judge(held: Buffer, host: string, needsTls: boolean): number | "admitted" | { refused: string } {
  const hello = readClientHello(held);
  switch (hello.kind) {
    case "more":
      return held.length > maxHelloBytes ? { refused: "the TLS hello is too long" } : hello.atLeast;
    case "not_tls":
      return needsTls ? { refused: `the traffic to ${host} is not TLS` } : "admitted";
    case "malformed":
      return { refused: hello.why };
    case "hello":
      // With an encrypted hello the visible name is not the real one.
      if (hello.isEncrypted) return { refused: "an encrypted TLS hello hides the server name" };
      if (hello.serverName === undefined) return { refused: "the TLS hello names no server" };
      if (hello.serverName !== host) return { refused: `the TLS server name is not ${host}` };
      return "admitted";
  }
}
