import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { PassedListener } from "../../lib/passed-listener.ts";
import type { EgressRules } from "../rules/decide.ts";
import type { EgressEvent, OnEgressEvent } from "../rules/events.ts";

/** What a session's way out needs of the process behind it. */
export interface ProxyLink {
  /** has the proxy serve this session; the answer is the path of its socket */
  open(rules: EgressRules): Promise<string>;
  /** has the proxy accept connections on the cell's own socket */
  listen(listener: PassedListener): Promise<void>;
  /** returns when they are in force */
  update(rules: EgressRules): Promise<void>;
  flush(): Promise<void>;
  close(): void;
}

const reviveMs = 100;

/** One session's way out: connections go in, decisions come back. */
export class SessionEgress implements AsyncDisposable {
  readonly #link: ProxyLink;
  readonly #onEvent: OnEgressEvent;
  readonly #connections = new Set<Duplex>();
  #rules: EgressRules;
  /** what the proxy has of them */
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

  /** Returns when the proxy listens. After its death it is started again, with the rules in force. */
  async ready(): Promise<string> {
    this.#path ??= this.#open();
    const path = this.#path;
    try {
      return await path;
    } catch (error) {
      if (this.#path === path) this.#path = undefined; // whoever needs it next tries again
      throw error;
    }
  }

  /** Has the proxy accept the cell's connections itself; the caller keeps the socket, for the proxy may have to be replaced. */
  async listen(listener: PassedListener): Promise<void> {
    await this.ready();
    await this.#link.listen(listener);
    this.#listener = listener;
  }

  /** Takes a connection that a program in the cell made to its proxy. */
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

  /** Puts other rules in force, and returns when they are; what they do not allow has ended then. */
  async update(rules: EgressRules): Promise<void> {
    this.#rules = rules;
    await this.#path?.catch(() => {}); // an opening under way, with the rules before these, must not come after them
    await this.#tellRules();
  }

  /** Returns when every decision that was made before has been told. */
  flush(): Promise<void> {
    return this.#link.flush();
  }

  tell(event: EgressEvent): void {
    this.#onEvent(event);
  }

  /** The process behind it is gone: what it carried is, too. */
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

  /** Nobody hands connections over that could be the reason to start it again: they wait at the cell's socket. */
  async #revive(): Promise<void> {
    if (this.#isReviving) return;
    this.#isReviving = true;
    while (this.#listener?.handle && !this.#isClosed && !(await this.ready().catch(() => undefined))) {
      await sleep(reviveMs, undefined, { ref: false }); // what fails at once would leave nobody else a turn
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
    await this.#tellRules(); // they may have changed while it started, and no connection comes before they hold
    if (this.#listener) await this.#link.listen(this.#listener);
    return path;
  }
}

/**
 * Buffers that are read into again and again. Node makes a new one for each read, and at hundreds of megabytes a second
 * its collector takes more time than the bytes themselves.
 */
class BufferPool {
  readonly #size: number;
  readonly #most: number;
  readonly #free: Buffer[] = [];

  /** Keeps up to `most` buffers of `size` bytes; more are made where they are needed, and left to the collector. */
  constructor(size: number, most: number) {
    this.#size = size;
    this.#most = most;
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#size);
  }

  /** Whoever gives a buffer back has no view of it left that somebody reads. */
  give(buffer: Buffer): void {
    if (this.#free.length < this.#most) this.#free.push(buffer);
  }
}

/** For all sessions: what is read from the proxy is on its way to a cell and then free again. */
const pool = new BufferPool(128 * 1024, 32);

/** Between a stream of the cell's channel and the proxy. What `connection` says it has written, it does not look at again. */
function carry(connection: Duplex, path: string): void {
  let reading: Buffer | undefined;
  const socket = connect({
    path,
    allowHalfOpen: true,
    onread: {
      buffer: () => (reading = pool.take()),
      callback: (count) => {
        const buffer = reading as Buffer;
        reading = undefined; // given back once, or two connections would read into it
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
