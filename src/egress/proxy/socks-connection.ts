import type { Duplex } from "node:stream";
import { malformed } from "../rules/decide.ts";
import { printable } from "../rules/events.ts";
import { parsePair } from "../rules/target.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { sayGoodbye } from "./say-goodbye.ts";
import {
  readGreeting,
  readSocksRequest,
  type SocksMessage,
  type SocksStep,
  socksAnswer,
  socksReply,
  socksVersion,
} from "./socks.ts";
import { openTunnel } from "./tunnel.ts";

/** More than the longest greeting or request. */
const maxDialogueBytes = 1024;

/** Serves a SOCKS5 client: TCP only, and only ports that an allowlist entry names. */
export async function socksConnection(client: Duplex, first: Buffer, context: ProxyContext): Promise<void> {
  const incoming = new Dialogue(client, first);
  const greeting = await incoming.next(readGreeting);
  if (greeting?.kind !== "read") return sayGoodbye(client, Buffer.from([socksVersion, 0xff]));
  client.write(Buffer.from([socksVersion, 0]));
  const request = await incoming.next(readSocksRequest);
  if (request === undefined) return void client.destroy();
  if (request.kind === "refused") {
    context.refuse({ host: "", port: 0, via: "socks" }, malformed(request.why));
    return sayGoodbye(client, socksAnswer(request.reply));
  }
  const parsed = parsePair(request.host, request.port);
  if (!parsed.ok) {
    const asked = { host: printable(request.host), port: request.port, via: "socks" as const };
    context.refuse(asked, malformed(parsed.reason));
    return sayGoodbye(client, socksAnswer(socksReply.notAllowed));
  }
  const asked = { ...parsed.target, via: "socks" as const };
  const verdict = context.ask(asked);
  if (!verdict.allow) return sayGoodbye(client, socksAnswer(socksReply.notAllowed));
  const exchange = context.begin(asked);
  exchange.stopsBy(() => client.destroy());
  const dialled = await context.dial(exchange, verdict);
  if (dialled.kind !== "connected") {
    const reply = dialled.kind === "denied" ? socksReply.notAllowed : socksReply.unreachable;
    return sayGoodbye(client, socksAnswer(reply));
  }
  client.write(socksAnswer(socksReply.granted));
  openTunnel({
    ...{ client, early: incoming.rest(), upstream: dialled.socket, host: asked.host, exchange },
    needsTls: verdict.needsTls,
    limits: context.limits,
    onRefused: (denial) => {
      context.refuse(asked, denial);
      exchange.end(denial.reason);
    },
  });
}

/** Reads messages from bytes that come in chunks of any size. */
class Dialogue {
  readonly #client: Duplex;
  #held: Buffer;

  constructor(client: Duplex, first: Buffer) {
    this.#client = client;
    this.#held = first;
  }

  /** The next message; undefined if the client disconnected or sent too much. */
  next<Found>(read: (bytes: Buffer) => SocksStep<Found>): Promise<SocksMessage<Found> | undefined> {
    return new Promise((settle) => {
      const finish = (step: SocksMessage<Found> | undefined) => {
        this.#client.off("data", onData);
        this.#client.off("close", onClose);
        this.#client.off("end", onClose);
        this.#client.pause();
        if (step?.kind === "read") this.#held = this.#held.subarray(step.used);
        settle(step);
      };
      const look = () => {
        const step = read(this.#held);
        if (step.kind !== "more") finish(step);
        else if (this.#held.length > maxDialogueBytes) finish(undefined);
      };
      const onData = (bytes: Buffer) => {
        this.#held = Buffer.concat([this.#held, bytes]);
        look();
      };
      const onClose = () => finish(undefined);
      this.#client.on("data", onData);
      this.#client.once("close", onClose);
      this.#client.once("end", onClose);
      look();
    });
  }

  /** The bytes after the last message. */
  rest(): Buffer {
    return this.#held;
  }
}
