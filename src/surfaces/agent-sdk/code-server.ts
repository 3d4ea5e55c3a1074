import type { McpSdkServerConfigWithInstance } from "@anthropic-ai/claude-agent-sdk";
import { Cleanup } from "../../lib/cleanup.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import { unlessAborted } from "../../lib/waiting/unless-aborted.ts";
import { LazySandbox } from "../../service/lazy-sandbox.ts";
import type { Sessions } from "../../service/tenants/tenant-sessions.ts";
import { callTool, type ToolOutcome } from "../../service/tools/call-tool.ts";
import { policyFacts } from "../../service/tools/policy-facts.ts";
import { hostEffects, toolHints } from "../../service/tools/tool-hints.ts";
import { codecellVersion } from "../../service/version.ts";
import type { Codecell } from "../../sessions/codecell.ts";
import type { Session } from "../../sessions/session.ts";
import { sandboxInstructions } from "./instructions.ts";
import { type AgentSdk, loadAgentSdk } from "./load-sdk.ts";
import { runInput, runTool } from "./run-tool.ts";
import { serverName } from "./tool-names.ts";

/** Options of `sandboxedCodeServer`. */
export interface SandboxedCodeServerOptions {
  /** Is asked before each run, with the id of the call. Whoever uses the gate passes what the gate allowed. */
  readonly isCallAllowed?: (toolUseId: string | undefined) => boolean;
  readonly logger?: Logger;
  /** ends the wait for a free place, if as many sessions are open as the policy's `session.limit` allows */
  readonly signal?: AbortSignal;
}

/** An SDK MCP server with the tool `run`, for one query, and its session. Disposing stops the code and closes the session. */
export interface SandboxedCodeServer extends AsyncDisposable {
  /** for `mcpServers` of one query, as `sandboxed_code`. The SDK cannot use it for a second one */
  readonly server: McpSdkServerConfigWithInstance;
  readonly session: Session;
  /** Stops the code that is running now. The session stays. */
  stopRuns(): void;
}

/** How long a new session waits for a free place under the policy's `session.limit`. */
const sessionWaitMs = 60_000;

/** Opens a session and the server that runs code in it. */
export async function sandboxedCodeServer(
  codecell: Codecell,
  options: SandboxedCodeServerOptions = {},
): Promise<SandboxedCodeServer> {
  return openCodeServer(await loadAgentSdk(), codecell, options);
}

export async function openCodeServer(
  sdk: AgentSdk,
  codecell: Codecell,
  { isCallAllowed = () => true, logger = silentLogger, signal }: SandboxedCodeServerOptions,
): Promise<SandboxedCodeServer> {
  await using cleanup = new Cleanup();
  const session = await newSession(codecell, signal);
  cleanup.defer(() => session.close());
  const { policy } = session;
  const facts = policyFacts(policy);
  const effects = hostEffects(policy);
  const sandbox = new LazySandbox({
    open: async () => only(session, codecell),
    ...{ projectDir: process.cwd(), ownsSessions: false, hasOnlyTool: true, effects, facts },
  });
  cleanup.defer(() => sandbox[Symbol.asyncDispose]());
  const description = `${runTool.description} ${runTool.limits?.(facts) ?? ""}`;
  const run = sdk.tool(
    runTool.name,
    description,
    runInput.shape,
    async (args, extra) => {
      const { signal = new AbortController().signal, _meta } = Object(extra) as Extra;
      const toolUseId = _meta?.["claudecode/toolUseId"];
      // Attack: something makes Claude Code skip its hooks, and code runs that the gate has not seen.
      if (!isCallAllowed(typeof toolUseId === "string" ? toolUseId : undefined)) return notAllowed;
      return toResult(await callTool(runTool, sandbox, { args, context: { signal }, logger }));
    },
    { annotations: toolHints(runTool, effects), alwaysLoad: true },
  );
  const server = sdk.createSdkMcpServer({
    ...{ name: serverName, version: codecellVersion(), alwaysLoad: true, tools: [run] },
    instructions: sandboxInstructions(policy),
  });
  const owned = cleanup.move();
  return {
    ...{ server, session },
    stopRuns() {
      const runs = sandbox.opened?.runs;
      for (const { runId, status } of runs?.list() ?? []) if (status === "running") runs?.cancel(runId);
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

async function newSession(codecell: Codecell, signal: AbortSignal | undefined): Promise<Session> {
  const opening = codecell.session(undefined, { waitMs: sessionWaitMs });
  try {
    return await unlessAborted(opening, signal, "no session was opened");
  } catch (error) {
    opening.then((late) => late.close()).catch(() => {});
    throw error;
  }
}

/** What the SDK passes to the handler of a tool, which its types leave open. */
interface Extra {
  readonly signal?: AbortSignal;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** Sessions of which there is only this one. */
function only(session: Session, codecell: Codecell): Sessions {
  return {
    ...{ policy: session.policy, runner: codecell.runner, isolation: codecell.isolation },
    session: async () => session,
    get: (id) => codecell.get(id),
    info: (id) => codecell.info(id),
    list: (options) => codecell.list(options),
    fork: (id, newId) => codecell.fork(id, newId),
    closeSession: (id, options) => codecell.closeSession(id, options),
    async [Symbol.asyncDispose]() {},
  };
}

type Content = Exclude<ToolOutcome["content"][number], { readonly type: "resource_link" }>;

/** Without links to files: no tool of this server reads them, and the text names the files. */
function toResult({ isError, content }: ToolOutcome) {
  const blocks = content.filter((block): block is Content => block.type !== "resource_link");
  return { content: blocks.map((block) => ({ ...block })), ...(isError ? { isError } : {}) };
}

const notAllowed = {
  isError: true,
  content: [
    {
      type: "text" as const,
      text: "the gate was not asked about this call, so its code was not run\nnext: tell the user; do not work around this",
    },
  ],
};
