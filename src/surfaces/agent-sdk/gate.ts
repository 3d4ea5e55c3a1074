import type { HookCallbackMatcher, HookInput, HookJSONOutput } from "@anthropic-ai/claude-agent-sdk";
import { CodecellError } from "../../lib/errors.ts";
import { DeadlinePassed, deadline } from "../../lib/waiting/deadline.ts";
import { hostCodeTools, runToolName } from "./tool-names.ts";
import { decide, type GateReason, isSandboxTool, type ToolAnswer, type ToolRequest } from "./tool-request.ts";

/** What the gate decided about one request. */
export interface ToolDecision {
  readonly request: ToolRequest;
  readonly isAllowed: boolean;
  readonly reason: GateReason;
}

/** Decides about a request that the gate would allow. Whatever is not `allow` denies: an exception, silence, anything else. */
export type OnToolRequest = (
  request: ToolRequest,
  options: { readonly signal: AbortSignal },
) => ToolAnswer | Promise<ToolAnswer>;

/** Options of the gate. */
export interface SandboxGateOptions {
  /** tools that may run beside the sandbox, such as `Read`, `Agent` or `mcp__github__get_issue`; default: none */
  readonly allowedHostTools?: readonly string[];
  readonly onToolRequest?: OnToolRequest;
  /** how long `onToolRequest` may take; default: 60,000 */
  readonly toolRequestTimeoutMs?: number;
  /** Is told every decision before the tool runs. If it fails, the tool is denied. */
  readonly onDecision?: (decision: ToolDecision) => void | Promise<void>;
}

const defaultTimeoutMs = 60_000;
const maxTimeoutMs = 86_400_000;
/** For `onDecision`, and for a busy host. When it passes too, the SDK denies the call. */
const spareSeconds = 30;

/**
 * A PreToolUse hook for `hooks` of a query: it allows the sandbox and what the host program names, and denies everything else, in every
 * permission mode and in sub-agents.
 */
export function sandboxGate(options: SandboxGateOptions = {}): HookCallbackMatcher {
  const { toolRequestTimeoutMs = defaultTimeoutMs } = options;
  if (!(toolRequestTimeoutMs > 0 && toolRequestTimeoutMs <= maxTimeoutMs)) {
    throw new CodecellError("usage", `toolRequestTimeoutMs: ${toolRequestTimeoutMs} is not a time in milliseconds`, {
      hint: `pass a number above 0, up to ${maxTimeoutMs} (one day)`,
    });
  }
  const allowed = new Set(checkedTools(options.allowedHostTools ?? []));
  return {
    onFailure: "block",
    timeout: Math.ceil(toolRequestTimeoutMs / 1000) + spareSeconds,
    hooks: [
      async (input, _toolUseId, { signal }) => answer(input, { ...options, toolRequestTimeoutMs }, allowed, signal),
    ],
  };
}

/** Throws `usage` for a tool that runs programs on the host, and for what is not a list. */
export function checkedTools(names: readonly string[]): readonly string[] {
  if (!Array.isArray(names)) {
    throw new CodecellError("usage", "allowedHostTools: expected a list of names", {
      hint: 'pass a list, as in ["Read"]',
    });
  }
  const refused = names.find((name) => hostCodeTools.includes(name) || name === runToolName);
  if (refused === undefined) return names;
  throw new CodecellError("usage", `allowedHostTools: ${refused} cannot be named`, {
    hint: "the sandbox is always allowed and is the only place where code runs: leave it out",
  });
}

type Settled = SandboxGateOptions & { readonly toolRequestTimeoutMs: number };

async function answer(
  input: HookInput,
  options: Settled,
  allowed: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<HookJSONOutput> {
  const request = requestOf(input);
  if (request === undefined) return denial("not a request that the gate understands");
  const first: Verdict = decide(request, allowed);
  const { message, ...decision } = first.isAllowed ? await askHost(request, first.reason, options, signal) : first;
  try {
    await options.onDecision?.({ request, ...decision });
  } catch {
    return denial("the decision could not be recorded", request.tool);
  }
  if (!decision.isAllowed) return denial(decision.reason, request.tool, message);
  // A named tool still has to pass the SDK's own permissions. The sandbox needs no question: the policy is its limit.
  if (!request.isSandbox) return {};
  return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow" } };
}

interface Verdict {
  readonly isAllowed: boolean;
  readonly reason: GateReason;
  /** what the model reads */
  readonly message?: string;
}

async function askHost(
  request: ToolRequest,
  reason: GateReason,
  { onToolRequest, toolRequestTimeoutMs }: Settled,
  signal: AbortSignal,
): Promise<Verdict> {
  if (onToolRequest === undefined) return { isAllowed: true, reason };
  using limit = deadline(toolRequestTimeoutMs, signal);
  try {
    const given: unknown = await Promise.race([
      onToolRequest(request, { signal: limit.signal }),
      rejected(limit.signal),
    ]);
    const { behavior, message } = Object(given) as { behavior?: unknown; message?: unknown };
    if (behavior === "allow") return { isAllowed: true, reason };
    return {
      ...{ isAllowed: false, reason: "denied by onToolRequest" },
      ...(typeof message === "string" ? { message } : {}),
    };
  } catch (error) {
    const isLate = error instanceof DeadlinePassed;
    return { isAllowed: false, reason: isLate ? "onToolRequest did not answer in time" : "onToolRequest failed" };
  }
}

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Undefined: not the event of this hook, or fields that are not what the SDK promises. */
function requestOf(input: HookInput): ToolRequest | undefined {
  if (input.hook_event_name !== "PreToolUse") return undefined;
  const {
    tool_name: tool,
    tool_input,
    tool_use_id: toolUseId,
    agent_id,
    agent_type,
    permission_mode,
    mcp_server,
  } = input;
  if (typeof tool !== "string" || typeof toolUseId !== "string") return undefined;
  const server =
    typeof mcp_server?.name === "string" && typeof mcp_server.source === "string"
      ? { name: mcp_server.name, source: mcp_server.source }
      : undefined;
  return {
    ...{ tool, input: tool_input, toolUseId, isSandbox: isSandboxTool(tool, server) },
    ...(server ? { server } : {}),
    ...(agent_id === undefined ? {} : { agentId: agent_id }),
    ...(agent_type === undefined ? {} : { agentType: agent_type }),
    ...(permission_mode === undefined ? {} : { permissionMode: permission_mode }),
  };
}

function denial(reason: GateReason, tool?: string, message?: string): HookJSONOutput {
  const what = tool === undefined ? "The call" : tool;
  const why = message ?? `${reason}. To run code, call ${runToolName}. Do not work around this; tell the user.`;
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: `${what} was denied: ${why}`,
    },
  };
}
