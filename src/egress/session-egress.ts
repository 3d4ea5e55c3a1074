import { connect } from "node:net";
import type { Duplex } from "node:stream";
import type { EgressRules } from "./decide.ts";
import type { EgressEvent, OnEgressEvent } from "./events.ts";

/** What a session's way out needs of the process behind it. */
export interface ProxyLink {
  /** has the proxy serve this session; the answer is the path of its socket */
  open(rules: EgressRules): Promise<string>;
  /** returns when they are in force */
  update(rules: EgressRules): Promise<void>;
  flush(): Promise<void>;
  close(): void;
}

/** One session's way out: connections go in, decisions come back. */
export class SessionEgress implements AsyncDisposable {
  readonly #link: ProxyLink;
  readonly #onEvent: OnEgressEvent;
  readonly #connections = new Set<Duplex>();
  #rules: EgressRules;
  #path: Promise<string> | undefined;
  #isClosed = false;

  constructor(link: ProxyLink, rules: EgressRules, onEvent: OnEgressEvent) {
    this.#link = link;
    this.#rules = rules;
    this.#onEvent = onEvent;
  }

  /** Returns when the proxy listens. After its death it is started again, with the rules in force. */
  async ready(): Promise<string> {
    this.#path ??= this.#link.open(this.#rules);
    return await this.#path;
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
    await this.#link.update(rules);
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
    for (const connection of this.#connections) connection.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const connection of this.#connections) connection.destroy();
    this.#link.close();
  }
}

function carry(connection: Duplex, path: string): void {
  const socket = connect({ path, allowHalfOpen: true });
  socket.on("error", () => connection.destroy());
  socket.once("close", () => {
    if (!connection.writableEnded) connection.destroy();
  });
  connection.once("close", () => socket.destroy());
  if (connection.destroyed) socket.destroy();
  connection.pipe(socket);
  socket.pipe(connection);
}
