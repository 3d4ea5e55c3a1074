import { messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import { deadline } from "../../lib/waiting/deadline.ts";
import { unlessAborted } from "../../lib/waiting/unless-aborted.ts";
import type { UpstreamConfig } from "./server-config.ts";
import { ToolCallError } from "./tool-call-error.ts";
import type { ConnectUpstream, UpstreamClient, UpstreamTool } from "./upstream-client.ts";

const connectMs = 30_000;
/** of a server that answers at once but says all the time that its list has changed */
const refreshEveryMs = 1_000;
const firstRetryMs = 1_000;
const lastRetryMs = 60_000;

type State =
  | { readonly is: "new" }
  | { readonly is: "connecting"; readonly client: Promise<UpstreamClient> }
  | { readonly is: "ready"; readonly client: UpstreamClient }
  /** not tried again before `retryAtMs`, so that a server that cannot start does not cost every call a start */
  | { readonly is: "failed"; readonly retryAtMs: number }
  | { readonly is: "closed" };

export interface UpstreamServerOptions {
  readonly connect: ConnectUpstream;
  readonly logger: Logger;
  readonly now?: () => number;
}

/** One MCP server: started in the background, and again when it is needed after it died. */
export class UpstreamServer implements AsyncDisposable {
  readonly name: string;
  readonly #config: UpstreamConfig;
  readonly #options: UpstreamServerOptions;
  readonly #now: () => number;
  readonly #closing = new AbortController();
  #state: State = { is: "new" };
  #tools: readonly UpstreamTool[] = [];
  #failures = 0;
  #refresh: NodeJS.Timeout | undefined;

  constructor(config: UpstreamConfig, options: UpstreamServerOptions) {
    this.name = config.name;
    this.#config = config;
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** What it offered last; still there after it died, because the next call starts it again. */
  get tools(): readonly UpstreamTool[] {
    return this.#tools;
  }

  get isAvailable(): boolean {
    return this.#state.is !== "failed" && this.#state.is !== "closed";
  }

  /** Starts it without waiting. */
  start(): void {
    this.client(this.#closing.signal).catch(() => {});
  }

  /** Resolves when the attempt to connect that is under way has ended, in whatever way. */
  async settled(): Promise<void> {
    if (this.#state.is === "connecting") await this.#state.client.catch(() => {});
  }

  /** The connection. Throws `ToolCallError` if there is none. */
  async client(signal: AbortSignal): Promise<UpstreamClient> {
    const state = this.#state;
    if (state.is === "ready") return state.client;
    if (state.is === "closed") throw unavailable(this.name, "codecell is shutting down");
    if (state.is === "failed" && this.#now() < state.retryAtMs) {
      const seconds = Math.ceil((state.retryAtMs - this.#now()) / 1000);
      throw unavailable(this.name, `it could not be started; the next attempt is possible in ${seconds} s`);
    }
    const connecting = state.is === "connecting" ? state.client : this.#connect();
    return unlessAborted(connecting, signal, `the MCP server ${this.name} has not started`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const state = this.#state;
    this.#state = { is: "closed" };
    clearTimeout(this.#refresh);
    this.#closing.abort();
    const client = state.is === "connecting" ? await state.client.catch(() => undefined) : undefined;
    await (state.is === "ready" ? state.client : client)?.[Symbol.asyncDispose]();
  }

  #connect(): Promise<UpstreamClient> {
    const client = this.#open();
    this.#state = { is: "connecting", client };
    return client;
  }

  async #open(): Promise<UpstreamClient> {
    const { connect, logger } = this.#options;
    using limit = deadline(connectMs, this.#closing.signal);
    let client: UpstreamClient | undefined;
    try {
      client = await connect(this.#config, {
        signal: limit.signal,
        onClosed: () => this.#lost(client),
        onToolsChanged: () => this.#refreshSoon(),
      });
      this.#tools = await client.listTools(limit.signal);
    } catch (error) {
      await closeQuietly(client);
      if (this.#state.is === "closed") throw unavailable(this.name, "codecell is shutting down");
      const waitMs = Math.min(firstRetryMs * 2 ** this.#failures++, lastRetryMs);
      this.#state = { is: "failed", retryAtMs: this.#now() + waitMs };
      logger.warn("an MCP server could not be started", { server: this.name, error: messageOf(error) });
      // The reason stays in the log: it may name paths of the host.
      throw unavailable(this.name, "it could not be started");
    }
    if (this.#closing.signal.aborted) {
      await closeQuietly(client);
      throw unavailable(this.name, "codecell is shutting down");
    }
    this.#failures = 0;
    this.#state = { is: "ready", client };
    logger.debug("connected to an MCP server", { server: this.name, tools: this.#tools.length });
    return client;
  }

  #lost(client: UpstreamClient | undefined): void {
    if (this.#state.is !== "ready" || this.#state.client !== client) return;
    this.#state = { is: "new" };
    this.#options.logger.warn("an MCP server is gone; the next call starts it again", { server: this.name });
  }

  /** The attack: a server that announces changes without end. One request a second answers all of them. */
  #refreshSoon(): void {
    if (this.#refresh !== undefined || this.#state.is === "closed") return;
    this.#refresh = setTimeout(async () => {
      try {
        if (this.#state.is !== "ready") return;
        using limit = deadline(connectMs, this.#closing.signal);
        this.#tools = await this.#state.client.listTools(limit.signal);
      } catch (error) {
        this.#options.logger.warn("an MCP server did not list its tools", {
          server: this.name,
          error: messageOf(error),
        });
      } finally {
        this.#refresh = undefined;
      }
    }, refreshEveryMs);
    this.#refresh.unref();
  }
}

async function closeQuietly(client: UpstreamClient | undefined): Promise<void> {
  try {
    await client?.[Symbol.asyncDispose]();
  } catch {
    // the failure that led here is the one to report
  }
}

function unavailable(server: string, why: string): ToolCallError {
  return new ToolCallError("unavailable", `the MCP server ${server} is not available: ${why}`);
}
