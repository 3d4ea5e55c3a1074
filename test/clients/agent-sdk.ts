import { join } from "node:path";
import type { Options, Query, SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { expect, vi } from "vitest";
import { auditDirectory, readAudit } from "../../src/audit/index.ts";
import { type SandboxedQueryOptions, sandboxedQuery } from "../../src/surfaces/agent-sdk/index.ts";
import { descendantsOf } from "../e2e/process-tree.ts";
import { type ClaudeHome, newClaudeHome } from "./claude-code.ts";
import {
  type ScriptedMessagesApi,
  startScriptedMessagesApi,
  type ToolUse,
  type Turn,
} from "./scripted-messages-api.ts";

export const run = (code: string, more: Record<string, unknown> = {}): ToolUse => ({
  ...{ name: "mcp__sandboxed_code__run", input: { code, ...more } },
});
export const bash = (command: string): ToolUse => ({ name: "Bash", input: { command, description: "Run it" } });

/** A script that makes these calls in one turn and then ends. */
export function calling(...calls: readonly ToolUse[]): Turn[] {
  return [() => calls, () => "That was all."];
}

type Prompt = Parameters<typeof sandboxedQuery>[0]["prompt"];

/** An event of the audit about a tool. */
export interface Decided {
  readonly type: "tool.allowed" | "tool.denied";
  readonly session: string;
  readonly tool: string;
  readonly server?: string;
  readonly source?: string;
  readonly agent?: string;
  readonly reason: string;
}

export interface Talk {
  readonly api: ScriptedMessagesApi;
  readonly messages: readonly SDKMessage[];
  /** the model's last message */
  readonly result: string | undefined;
  /** what the query threw */
  readonly failure: unknown;
}

/** A separate home for Claude Code, and queries of the real SDK in it. */
export class AgentHome implements AsyncDisposable {
  readonly home: ClaudeHome;

  private constructor(home: ClaudeHome) {
    this.home = home;
  }

  static async open(): Promise<AgentHome> {
    return new AgentHome(await newClaudeHome());
  }

  get stateDir(): string {
    return join(this.home.top, "agent-state");
  }

  /** Options that keep a query of the plain SDK offline and in this home. */
  options(api: ScriptedMessagesApi): Options {
    return {
      cwd: this.home.project,
      // Claude Code refuses bypassPermissions for root, unless it is told that it is in a sandbox.
      env: { ...this.home.env, ANTHROPIC_BASE_URL: api.url, IS_SANDBOX: "1" },
      ...{ model: "claude-sonnet-4-5", persistSession: false, permissionMode: "default" },
    };
  }

  query(api: ScriptedMessagesApi, options: SandboxedQueryOptions = {}, prompt: Prompt = "go"): Query {
    const own = this.options(api);
    const env = { ...own.env, ...options.env };
    return sandboxedQuery({ prompt, options: { ...own, stateDir: this.stateDir, ...options, env } });
  }

  /** Plays a script to a query and reads it to its end. */
  async talk(turns: readonly Turn[], options: SandboxedQueryOptions = {}, prompt?: string): Promise<Talk> {
    await using api = await startScriptedMessagesApi(turns);
    const talk = await readToEnd(this.query(api, options, prompt));
    if (api.failure) throw api.failure;
    return { api, ...talk };
  }

  /** Decisions of the gate in the audit, in their order. */
  async decisions(session?: string): Promise<Decided[]> {
    const found: Decided[] = [];
    for await (const { event } of readAudit(auditDirectory(this.stateDir), {
      types: ["tool.allowed", "tool.denied"],
    })) {
      if (session === undefined || event.session === session) found.push(event as unknown as Decided);
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A query that was closed early does not wait for Claude Code, which writes to its home until it exits.
    await vi.waitFor(() => expect(descendantsOf(process.pid)).toEqual([]), { timeout: 30_000 });
    await this.home[Symbol.asyncDispose]();
  }
}

export async function readToEnd(query: Query): Promise<Omit<Talk, "api">> {
  const messages: SDKMessage[] = [];
  let failure: unknown;
  try {
    for await (const message of query) messages.push(message);
  } catch (error) {
    failure = error;
  }
  const last = messages.findLast((message) => message.type === "result");
  const result = last?.subtype === "success" ? last.result : undefined;
  return { messages, result, failure };
}

/** What the model saw for each call, joined. */
export function seenTexts({ api }: Talk): string[] {
  return api.seen.map(({ texts }) => texts.join("\n").trimEnd());
}

export function userMessage(content: string) {
  return { type: "user" as const, message: { role: "user" as const, content }, parent_tool_use_id: null };
}
