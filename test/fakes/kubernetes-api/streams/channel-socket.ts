import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { UnknownProtocol } from "../api/api-error.ts";

export type Protocol = "v5.channel.k8s.io" | "v4.channel.k8s.io";

/** The first byte of a message. */
export const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;

/** Beyond this, whoever sends has to wait. */
const highWaterBytes = 256 * 1024;

/** One websocket to a pod, with a channel number before every message. */
export class ChannelSocket {
  readonly #socket: WebSocket;
  #isMuted = false;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("error", () => {}); // `close` follows
  }

  /** Version 5 has a message that closes one stream. Before, nothing but the end of the connection does. */
  get canCloseStreams(): boolean {
    return this.#socket.protocol === "v5.channel.k8s.io";
  }

  /** Returns false if the client is slow: then `drained` tells when it has caught up. */
  send(channel: number, bytes: Buffer, drained: () => void = () => {}): boolean {
    if (this.#isMuted || this.#socket.readyState !== 1) return true;
    this.#socket.send(Buffer.concat([Buffer.of(channel), bytes]), () => {
      if (this.#socket.bufferedAmount <= highWaterBytes) drained();
    });
    return this.#socket.bufferedAmount <= highWaterBytes;
  }

  /** `done`: the message has been dealt with, and the next may come. */
  onMessage(listener: (channel: number, bytes: Buffer, done: () => void) => void): void {
    this.#socket.on("message", (data: Buffer) => {
      if (this.#isMuted || data.length === 0) return;
      let isDone = false;
      listener(data[0] as number, data.subarray(1), () => {
        isDone = true;
        this.#socket.resume();
      });
      if (!isDone) this.#socket.pause();
    });
  }

  onClose(listener: () => void): void {
    this.#socket.once("close", listener);
  }

  /** The last message, and then a proper end. */
  finish(status: Record<string, unknown>): void {
    this.send(channels.status, Buffer.from(JSON.stringify({ metadata: {}, ...status })));
    this.end();
  }

  end(): void {
    if (!this.#isMuted) this.#socket.close(1000);
  }

  /** Breaks the connection without a closing handshake. */
  drop(): void {
    if (!this.#isMuted) this.#socket.terminate();
  }

  /** Stays open and carries nothing any more: its other end is behind an unplugged cable. */
  mute(): void {
    this.#isMuted = true;
  }

  get isMuted(): boolean {
    return this.#isMuted;
  }
}

/** Accepts websockets with the newest protocol that both sides know. */
export function channelServer(spoken: readonly Protocol[]) {
  const server = new WebSocketServer({
    ...{ noServer: true, perMessageDeflate: false, maxPayload: 64 * 1024 * 1024 },
    handleProtocols: (offered) => spoken.find((one) => offered.has(one)) ?? false,
  });
  return (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<ChannelSocket> => {
    const offered = (request.headers["sec-websocket-protocol"] ?? "").split(/,\s*/);
    if (!spoken.some((one) => offered.includes(one))) throw new UnknownProtocol();
    return new Promise((resolve) => {
      server.handleUpgrade(request, socket, head, (accepted) => resolve(new ChannelSocket(accepted)));
    });
  };
}
