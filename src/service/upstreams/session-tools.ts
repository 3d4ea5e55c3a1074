import { createHash } from "node:crypto";
import { silentAudit } from "../../audit/audit.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import { SerialQueue } from "../../lib/waiting/serial-queue.ts";
import type { ExposedFunctions } from "../../sessions/functions/session-functions.ts";
import type { Session } from "../../sessions/session.ts";
import type { ToolFunction } from "./tool-functions.ts";
import { firstLine, type Upstreams } from "./upstreams.ts";

interface Exposed {
  readonly digest: string;
  readonly functions: ExposedFunctions;
}

export interface SessionToolsOptions {
  readonly logger?: Logger;
  /** Is told which functions there are, with one line each, when they change. */
  readonly onFunctions?: (lines: Record<string, string>) => void;
}

/** Gives sessions the functions for tools of other MCP servers, and keeps them up to date. */
export class SessionTools {
  readonly #upstreams: Upstreams;
  /** by what a session is while it is open: a session that was closed and opened again starts without functions */
  readonly #exposed = new WeakMap<Session["managed"], Exposed>();
  readonly #turns = new SerialQueue();

  readonly #options: SessionToolsOptions;

  constructor(upstreams: Upstreams, options: SessionToolsOptions = {}) {
    this.#upstreams = upstreams;
    this.#options = options;
  }

  /** Called before each run: servers and their tools come and go, and the policy may have changed. */
  async prepare(session: Session): Promise<void> {
    if (session.policy.tools.allow.length === 0 && !this.#exposed.has(session.managed)) return;
    await this.#upstreams.ready();
    await this.#turns.run(() => this.#update(session));
  }

  async #update({ managed, key }: Session): Promise<void> {
    const functions = this.#upstreams.functionsFor({
      session: key,
      policy: () => managed.policy,
      audit: managed.audit?.audit ?? silentAudit,
    });
    const digest = digestOf(functions);
    const before = this.#exposed.get(managed);
    if (before?.digest === digest) return;
    try {
      this.#exposed.set(managed, { digest, functions: await managed.functions.expose(functions) });
    } catch (error) {
      // A server that describes its tools badly must not keep code from running.
      this.#options.logger?.warn("functions for tools could not be exposed", { error: messageOf(error) });
      return;
    }
    await before?.functions[Symbol.asyncDispose]();
    this.#options.onFunctions?.(lines(functions));
  }
}

function lines(functions: Readonly<Record<string, ToolFunction>>): Record<string, string> {
  const named = Object.entries(functions).filter(([name]) => name !== "mcp_tools");
  return Object.fromEntries(named.map(([name, { description }]) => [name, firstLine(description)]));
}

/** The same for functions that look the same to a program and call the same tools. */
function digestOf(functions: Readonly<Record<string, ToolFunction>>): string {
  const seen = Object.entries(functions).map(([name, { description, input, timeoutMs }]) => {
    return [name, description, input, timeoutMs];
  });
  return createHash("sha256").update(JSON.stringify(seen)).digest("hex");
}
