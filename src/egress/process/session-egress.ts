import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { PassedListener } from "../../lib/passed-listener.ts";
import type { EgressRules } from "../rules/decide.ts";
import type { EgressEvent, OnEgressEvent } from "../rules/events.ts";
import { despiteExits } from "./proxy-exited.ts";

/** What `SessionEgress` needs from the proxy's process. */
export interface ProxyLink {
  /** makes the proxy serve this session; resolves to the path of its socket */
  open(rules: EgressRules): Promise<string>;
  /** makes the proxy accept connections on the cell's own socket */
  listen(listener: PassedListener): Promise<void>;
  /** resolves when the rules are in force */
  update(rules: EgressRules): Promise<void>;
  flush(): Promise<void>;
  close(): void;
}

const reviveMs = 100;

/** The network of one session: takes connections, reports decisions. */
export class SessionEgress implements AsyncDisposable {
  readonly #link: ProxyLink;
  readonly #onEvent: OnEgressEvent;
  readonly #connections = new Set<Duplex>();
  #rules: EgressRules;
  /** the rules that the proxy has */
  #told: EgressRules | undefined;
  #path: Promise<string> | undefined;
  #listener: PassedListener | undefined;
  #isClosed = false;
  #isReviving = false;

  constructor(link: ProxyLink, rules: EgressRules, onEvent: OnEgressEvent) {
    this.#link = link;
    this.#rules = rules;
    this.#onEvent = onEvent;
  }

  /** Resolves when the proxy listens. A proxy that has exited is restarted with the rules in force. */
  async ready(): Promise<string> {
    this.#path ??= this.#open();
    const path = this.#path;
    try {
      return await path;
    } catch (error) {
      if (this.#path === path) this.#path = undefined; // the next caller tries again
      throw error;
    }
  }

  /** Makes the proxy accept the cell's connections. The caller keeps the socket, in case the proxy must be replaced. */
  async listen(listener: PassedListener): Promise<void> {
    await despiteExits(async () => {
      await this.ready();
      await this.#link.listen(listener);
    });
    this.#listener = listener;
  }

  /** Takes a connection from a program in the cell to the proxy. */
  accept(connection: Duplex): void {
    this.#connections.add(connection);
    connection.once("close", () => this.#connections.delete(connection));
    connection.on("error", () => {});
    if (this.#isClosed) {
      connection.destroy();
      return;
    }
    this.ready().then(
      (path) => carry(connection, path),
      () => connection.destroy(),
    );
  }

  /** Resolves when the new rules are in force and the connections that they do not allow are closed. */
  async update(rules: EgressRules): Promise<void> {
    this.#rules = rules;
    await this.#path?.catch(() => {}); // an opening in progress has the old rules, and must not arrive after the new ones
    await this.#tellRules();
  }

  /** Resolves when all earlier decisions have been reported. */
  flush(): Promise<void> {
    return this.#link.flush();
  }

  tell(event: EgressEvent): void {
    this.#onEvent(event);
  }

  /** The proxy's process has exited, and its connections with it. */
  lost(): void {
    this.#path = undefined;
    this.#told = undefined;
    for (const connection of this.#connections) connection.destroy();
    void this.#revive();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const connection of this.#connections) connection.destroy();
    this.#link.close();
  }

  /** Restarts the proxy now: with a passed socket, no call of ours would trigger it when the next connection comes. */
  async #revive(): Promise<void> {
    if (this.#isReviving) return;
    this.#isReviving = true;
    while (this.#listener?.handle && !this.#isClosed && !(await this.ready().catch(() => undefined))) {
      await sleep(reviveMs, undefined, { ref: false }); // a start that fails at once must not starve the event loop
    }
    this.#isReviving = false;
  }

  async #tellRules(): Promise<void> {
    const rules = this.#rules;
    if (rules === this.#told) return;
    await this.#link.update(rules);
    this.#told = rules;
  }

  async #open(): Promise<string> {
    const rules = this.#rules;
    const path = await this.#link.open(rules);
    this.#told = rules;
    await this.#tellRules(); // they may have changed while it started; no connection may come before they are in force
    if (this.#listener) await this.#link.listen(this.#listener);
    return path;
  }
}

/**
 * Reused read buffers. Node allocates a new one for each read, and at hundreds of megabytes per second the garbage collector
 * takes more time than the copying.
 */
class BufferPool {
  readonly #size: number;
  readonly #most: number;
  readonly #free: Buffer[] = [];

  /** Keeps up to `most` buffers of `size` bytes; extra ones are garbage-collected. */
  constructor(size: number, most: number) {
    this.#size = size;
    this.#most = most;
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#size);
  }

  /** The caller must not use the buffer, or a view of it, after this. */
  give(buffer: Buffer): void {
    if (this.#free.length < this.#most) this.#free.push(buffer);
  }
}

/** Shared by all sessions: a buffer is in use only until its bytes are written to a cell. */
const pool = new BufferPool(128 * 1024, 32);

/** Between a stream of the cell's channel and the proxy. Once `connection` reports bytes as written, it does not read them again. */
function carry(connection: Duplex, path: string): void {
  let reading: Buffer | undefined;
  const socket = connect({
    path,
    allowHalfOpen: true,
    onread: {
      buffer: () => (reading = pool.take()),
      callback: (count) => {
        const buffer = reading as Buffer;
        reading = undefined; // release it only once: two connections must not read into the same buffer
        return connection.write(buffer.subarray(0, count), () => pool.give(buffer));
      },
    },
  });
  connection.on("drain", () => socket.resume());
  socket.once("end", () => connection.end());
  socket.on("error", () => connection.destroy());
  socket.once("close", () => {
    if (reading) pool.give(reading);
    if (!connection.writableEnded) connection.destroy();
  });
  connection.once("close", () => socket.destroy());
  if (connection.destroyed) socket.destroy();
  connection.pipe(socket);
}
