import type { IncomingMessage, ServerResponse } from "node:http";
import { CodecellError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import type { Codecell } from "../../sessions/codecell.ts";
import { McpHttpHandler } from "../../surfaces/mcp/http-handler.ts";
import type { McpServerOptions } from "../../surfaces/mcp/server.ts";
import { LazySandbox } from "../lazy-sandbox.ts";
import type { Links } from "../links/links.ts";
import type { ReleasePlace } from "../runs/run-registry.ts";
import type { Sandbox } from "../sandbox.ts";
import { TenantSessions } from "./tenant-sessions.ts";

export interface TenantParts {
  readonly namespace: string;
  readonly quota: number;
  readonly manager: Codecell;
  readonly mcp: McpServerOptions;
  readonly logger: Logger;
  readonly projectDir: string;
  readonly fileLinks: Links;
  readonly maxRuns: number;
  readonly maxBodyBytes: number;
  /** a place among the runs of the whole service */
  readonly takePlace: () => ReleasePlace;
}

/** What ended runs of one tenant may take in memory. */
const keptRuns = { keepRuns: 200, keepBytes: 64 * 1024 * 1024 };

/** Everything that one token reaches: sessions, runs and MCP connections of its own. Tenants share nothing but the cells' host. */
export class Tenant implements AsyncDisposable {
  readonly namespace: string;
  readonly sessions: TenantSessions;
  /** requests that are being answered, with the digest of the secret that each came with */
  readonly requests = new Map<IncomingMessage, string>();
  readonly #parts: TenantParts;
  readonly #ended = new AbortController();
  readonly #door: LazySandbox;
  #mcp: McpHttpHandler | undefined;
  #runs = 0;

  constructor(parts: TenantParts) {
    this.#parts = parts;
    this.namespace = parts.namespace;
    this.sessions = new TenantSessions(parts.manager, parts.namespace, parts.quota);
    const { projectDir, fileLinks, namespace } = parts;
    const runs = { ...keptRuns, takePlace: () => this.#takePlace() };
    const open = async () => this.sessions;
    const links =
      async ({ id }: { readonly id: string }) =>
      (artifact: { name: string; sha256: string }) =>
        fileLinks.url(namespace, { session: id, ...artifact }).url;
    this.#door = new LazySandbox({ open, projectDir, links, runs, isForGuests: true });
  }

  /** The same that the tools of MCP work with: a run started there can be watched here. */
  async sandbox(): Promise<Sandbox> {
    const sandbox = await this.#door.open();
    await sandbox.manager();
    return sandbox;
  }

  async serveMcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { mcp, logger, maxBodyBytes } = this.#parts;
    this.#mcp ??= new McpHttpHandler(this.#door, { ...mcp, logger, maxBodyBytes });
    await this.#mcp.handle(request, response);
  }

  /** Aborted when its token is gone: what it watches ends with it. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** The attack: a stolen secret that was exchanged, and goes on watching by what it had opened before. */
  endOthers(digest: string): void {
    for (const [request, shown] of this.requests) if (shown !== digest) request.socket.destroy();
  }

  /** Runs that go on. */
  async settled(): Promise<void> {
    const runs = this.#door.opened?.runs;
    const running = runs?.list().filter(({ status }) => status === "running") ?? [];
    await Promise.allSettled(running.map(({ runId }) => runs?.wait(runId)));
  }

  /** Stops what runs. Sessions belong to the manager, which saves and ends them. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await this.#mcp?.[Symbol.asyncDispose]();
    await this.#door[Symbol.asyncDispose]();
  }

  #takePlace(): ReleasePlace {
    const { maxRuns } = this.#parts;
    if (this.#runs >= maxRuns) {
      throw new CodecellError("run_limit", `${maxRuns} runs go on, as many as this token may have`, {
        hint: "wait for one, or cancel it",
      });
    }
    const release = this.#parts.takePlace();
    this.#runs++;
    return (end) => {
      this.#runs--;
      release(end);
    };
  }
}
