import type {
  McpSdkServerConfigWithInstance,
  McpServerConfig,
  Query,
  SDKMessage,
} from "@anthropic-ai/claude-agent-sdk";
import type { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import { checkServers, settingsWithHooks } from "./query-options.ts";
import { serverName } from "./tool-names.ts";

/** A query of the SDK that has started, with its sandbox. */
export interface StartedQuery {
  readonly query: Query;
  readonly server: McpSdkServerConfigWithInstance;
  stopRuns(): void;
  /** whether Claude Code has called a hook of this query */
  hooksRan(): boolean;
  /** whether the gate was asked about this call of a tool */
  gateSaw(toolUseId: string): boolean;
  /** whether the prompt is for the model, so that hooks run before it is asked */
  readonly isPlain: boolean;
  readonly cleanup: Cleanup;
}

/**
 * Stands for a query that starts when its sandbox is open. `query()` of the SDK returns at once, so this does too: every method waits.
 * The end of the query, however it comes, ends the sandbox.
 */
export class DeferredQuery {
  readonly #ending = new AbortController();
  readonly #starting: Promise<StartedQuery>;
  readonly #caller: AbortSignal | undefined;
  #isClosed = false;
  #ended: Promise<void> | undefined;

  private constructor(start: (signal: AbortSignal) => Promise<StartedQuery>, caller: AbortSignal | undefined) {
    this.#caller = caller;
    if (caller?.aborted) this.#ending.abort(aborted());
    this.#starting = this.#ending.signal.aborted ? Promise.reject(aborted()) : start(this.#ending.signal);
    this.#starting.catch(() => {}); // whoever reads the query sees it
    caller?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** `caller`: the signal of the caller's abort controller. */
  static start(start: (signal: AbortSignal) => Promise<StartedQuery>, caller?: AbortSignal): Query {
    const own = new DeferredQuery(start, caller);
    const methods: Record<string | symbol, unknown> = {
      next: (...args: []) => own.#next(...args),
      return: () => own.#return(),
      throw: (error: unknown) => own.#throw(error),
      close: () => own.#close(),
      interrupt: async () => {
        const started = await own.#starting;
        started.stopRuns();
        return started.query.interrupt();
      },
      setMcpServers: async (servers: Record<string, McpServerConfig>) => {
        checkServers(servers);
        const { query, server } = await own.#starting;
        return query.setMcpServers({ ...servers, [serverName]: server });
      },
      applyFlagSettings: async (settings: object) =>
        (await own.#starting).query.applyFlagSettings("env" in settings ? settingsWithHooks(settings) : settings),
      [Symbol.asyncDispose]: async () => {
        await own.#return();
      },
    };
    const query: Query = new Proxy({} as Query, {
      get(_target, name) {
        if (name === Symbol.asyncIterator) return () => query;
        if (Object.hasOwn(methods, name)) return methods[name];
        if (typeof name === "symbol" || name === "then") return undefined;
        return async (...args: unknown[]) => {
          const inner = (await own.#starting).query as unknown as Record<string, (...args: unknown[]) => unknown>;
          const method = inner[name];
          if (typeof method !== "function") throw new TypeError(`this version of the Agent SDK has no ${name}()`);
          return method.apply(inner, args);
        };
      },
    });
    return query;
  }

  async #next(...args: []): Promise<IteratorResult<SDKMessage, void>> {
    if (this.#isClosed) return this.#done();
    try {
      const started = await this.#starting;
      const step = await started.query.next(...args);
      if (step.done) await this.#end();
      else this.#refuseWithoutHooks(started, step.value);
      return step;
    } catch (error) {
      await this.#end();
      if (this.#isClosed) return this.#done();
      throw error;
    }
  }

  async #return(): Promise<IteratorResult<SDKMessage, void>> {
    await this.#leave((query) => query.return());
    return { done: true, value: undefined };
  }

  async #throw(error: unknown): Promise<IteratorResult<SDKMessage, void>> {
    await this.#leave((query) => query.throw(error).catch(() => {}));
    throw error;
  }

  async #leave(leave: (query: Query) => Promise<unknown>): Promise<void> {
    this.#isClosed = true;
    this.#ending.abort(aborted());
    try {
      const started = await this.#starting.catch(() => undefined);
      // A generator waits for its pending step; closing ends that.
      started?.query.close();
      if (started) await leave(started.query);
    } finally {
      await this.#end();
    }
  }

  #close(): void {
    this.#isClosed = true;
    this.#ending.abort(aborted());
    this.#starting.then(({ query }) => query.close()).catch(() => {});
    this.#end().catch(() => {}); // whoever reads the query sees it
  }

  readonly #onAbort = (): void => {
    this.#ending.abort(aborted());
    this.#end().catch(() => {}); // whoever reads the query sees it
  };

  async #done(): Promise<IteratorResult<SDKMessage, void>> {
    await this.#end();
    return { done: true, value: undefined };
  }

  /** Ends the sandbox: its runs are stopped and its cell is gone when this returns. */
  #end(): Promise<void> {
    this.#ended ??= this.#cleanUp();
    return this.#ended;
  }

  async #cleanUp(): Promise<void> {
    this.#caller?.removeEventListener("abort", this.#onAbort);
    const started = await this.#starting.catch(() => undefined);
    await started?.cleanup[Symbol.asyncDispose]();
  }

  /** The attack: a setting turns on a mode of Claude Code that skips hooks, and with them the gate. */
  #refuseWithoutHooks(started: StartedQuery, message: SDKMessage): void {
    if (!wentAroundGate(started, message)) return;
    started.query.close();
    throw new CodecellError("not_supported", "Claude Code runs without hooks here, so the gate cannot hold", {
      hint: "turn off its bare mode: remove CLAUDE_CODE_SIMPLE from `env` in its settings",
    });
  }
}

function wentAroundGate({ isPlain, hooksRan, gateSaw }: StartedQuery, message: SDKMessage): boolean {
  if (message.type === "user") {
    const done = blocksOf(message).filter(({ type, is_error }) => type === "tool_result" && is_error !== true);
    return done.some(({ tool_use_id }) => typeof tool_use_id === "string" && !gateSaw(tool_use_id));
  }
  if (hooksRan()) return false;
  if (message.type === "system") return isPlain && message.subtype === "init";
  return message.type === "assistant" && blocksOf(message).some(({ type }) => type === "tool_use");
}

interface Block {
  readonly type?: unknown;
  readonly tool_use_id?: unknown;
  readonly is_error?: unknown;
}

/** Without messages of an earlier conversation that the SDK repeats: another query decided about them. */
function blocksOf(message: { readonly message: { readonly content: unknown }; readonly isReplay?: unknown }): Block[] {
  const { content } = message.message;
  return Array.isArray(content) && message.isReplay !== true ? content.map(Object) : [];
}

function aborted(): CodecellError {
  return new CodecellError("aborted", "the query was ended");
}
