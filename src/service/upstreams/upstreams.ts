import type { Audit } from "../../audit/audit.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import type { Policy } from "../../policy/schema.ts";
import type { HostFunction } from "./host-function.ts";
import { RunCounter } from "./run-counter.ts";
import type { UpstreamConfig } from "./server-config.ts";
import { toolFunctions } from "./tool-functions.ts";
import type { ConnectUpstream } from "./upstream-client.ts";
import { UpstreamServer } from "./upstream-server.ts";

/** How long a run waits for servers that are still starting. Their first start is often a download. */
const firstWaitMs = 10_000;

export interface UpstreamsOptions {
  readonly servers: readonly UpstreamConfig[];
  readonly connect: ConnectUpstream;
  readonly logger?: Logger;
}

/** The other MCP servers whose tools code in cells may call. */
export class Upstreams implements AsyncDisposable {
  readonly #servers: readonly UpstreamServer[];
  readonly #calls = new RunCounter();
  #patience: Promise<void> | undefined;

  constructor({ servers, connect, logger = silentLogger }: UpstreamsOptions) {
    this.#servers = servers.map((config) => new UpstreamServer(config, { connect, logger }));
  }

  get serverNames(): string[] {
    return this.#servers.map(({ name }) => name);
  }

  /** Starts every server, and waits for none. */
  start(): void {
    this.#patience ??= new Promise((resolve) => setTimeout(resolve, firstWaitMs).unref());
    for (const server of this.#servers) server.start();
  }

  /** Waits until every server has started or failed, but not longer than 10 s after the start of all of them. */
  async ready(): Promise<void> {
    this.start();
    await Promise.race([this.#patience, Promise.all(this.#servers.map((server) => server.settled()))]);
  }

  /** The functions that a session may call now. */
  functions(policy: () => Policy, audit: Audit): Record<string, HostFunction> {
    return {
      ...toolFunctions({ servers: this.#servers, policy, audit, calls: this.#calls }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#servers.map((server) => server[Symbol.asyncDispose]()));
  }
}
