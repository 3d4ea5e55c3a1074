import type { Audit } from "../../audit/audit.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import type { Policy } from "../../policy/schema.ts";
import { RunCounter } from "./run-counter.ts";
import type { UpstreamConfig } from "./server-config.ts";
import { type ToolFunction, toolFunctions } from "./tool-functions.ts";
import type { ConnectUpstream } from "./upstream-client.ts";
import { UpstreamServer } from "./upstream-server.ts";

/** How long a run waits for servers that are still starting. Their first start is often a download. */
const firstWaitMs = 10_000;
const maxLineCharacters = 160;

export interface UpstreamsOptions {
  readonly servers: readonly UpstreamConfig[];
  readonly connect: ConnectUpstream;
  readonly logger?: Logger;
}

/** The session that gets functions. */
export interface ToolCaller {
  readonly session: string;
  /** the policy in force: it may change while the session is open */
  readonly policy: () => Policy;
  readonly audit: Audit;
}

/** The other MCP servers whose tools code in cells may call. */
export class Upstreams implements AsyncDisposable {
  readonly #servers: readonly UpstreamServer[];
  readonly #calls = new RunCounter();
  #patience: Promise<void> | undefined;

  constructor({ servers, connect, logger = silentLogger }: UpstreamsOptions) {
    this.#servers = servers.map((config) => new UpstreamServer(config, { connect, logger }));
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

  /** The functions that a session may call now, and `mcp_tools`, which lists them. None if the policy permits no tool. */
  functionsFor(caller: ToolCaller): Record<string, ToolFunction> {
    if (caller.policy().tools.allow.length === 0) return {};
    const functions = toolFunctions({ ...caller, servers: this.#servers, calls: this.#calls });
    return { ...functions, mcp_tools: this.#list(functions) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#servers.map((server) => server[Symbol.asyncDispose]()));
  }

  #list(functions: Readonly<Record<string, ToolFunction>>): ToolFunction {
    return {
      description:
        "Lists the functions that call tools of MCP servers, with one line each. help(function) has its parameters.",
      input: { type: "object", properties: {} },
      call: () => ({
        functions: Object.fromEntries(
          Object.entries(functions).map(([name, { description }]) => [name, firstLine(description)]),
        ),
        unavailable_servers: this.#servers.filter(({ isAvailable }) => !isAvailable).map(({ name }) => name),
      }),
    };
  }
}

/** The first line of a description. */
export function firstLine(description: string): string {
  const [line = ""] = description.trim().split("\n");
  return line.length <= maxLineCharacters ? line : `${line.slice(0, maxLineCharacters)}…`;
}
