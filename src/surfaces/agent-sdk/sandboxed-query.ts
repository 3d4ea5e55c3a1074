import type { Options, Query, SDKUserMessage } from "@anthropic-ai/claude-agent-sdk";
import { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import { unlessAborted } from "../../lib/waiting/unless-aborted.ts";
import type { PolicyChange } from "../../policy/change/merge.ts";
import { policyHash } from "../../policy/hash.ts";
import type { Policy } from "../../policy/schema.ts";
import { Codecell } from "../../sessions/codecell.ts";
import type { Session } from "../../sessions/session.ts";
import { openCodeServer } from "./code-server.ts";
import { DeferredQuery } from "./deferred-query.ts";
import { type SandboxGateOptions, sandboxGate, type ToolDecision } from "./gate.ts";
import { loadAgentSdk } from "./load-sdk.ts";
import { checkOptions, sandboxedOptions } from "./query-options.ts";
import { effectivePolicy, type SandboxPolicy } from "./sandbox-policy.ts";
import { type BorrowedCodecell, SharedCodecells } from "./shared-codecells.ts";

/** The sandbox of one query. */
export interface QuerySandbox {
  /** where code of the query runs; it is closed when the query ends */
  readonly session: Session;
  /** who enforces each rule of the policy */
  readonly receipt: Awaited<ReturnType<Session["receipt"]>>;
  /** the policy in force */
  readonly policy: Policy;
  /** how an override changed the policy of the file */
  readonly changes: readonly PolicyChange[];
}

/** Options of `sandboxedQuery` beside those of the SDK. */
export interface SandboxOptions extends SandboxGateOptions {
  /** what code may do: a policy file, a whole policy, `{ file, override }`, or `{ override }`; default: the strictest policy */
  readonly sandboxPolicy?: SandboxPolicy;
  /** a codecell of your own to use instead of `sandboxPolicy`. It stays open */
  readonly codecell?: Codecell;
  /** Is told the session and its receipt before the model is asked. If it fails, the query does. */
  readonly onSession?: (sandbox: QuerySandbox) => void | Promise<void>;
  /** where the audit and sessions are kept; default: the user's state directory */
  readonly stateDir?: string;
  readonly logger?: Logger;
}

/** Options of `sandboxedQuery`: those of the SDK, and those of the sandbox. */
export type SandboxedQueryOptions = Options & SandboxOptions;

const sharedCodecells = new SharedCodecells();

/**
 * `query()` of the Agent SDK with a sandbox: the tool `mcp__sandboxed_code__run` is the only way to run code, and a gate denies every
 * other tool that the options do not name. The sandbox ends with the query.
 */
export function sandboxedQuery({
  prompt,
  options = {},
}: {
  prompt: string | AsyncIterable<SDKUserMessage>;
  options?: SandboxedQueryOptions;
}): Query {
  const { sandboxPolicy, codecell, onSession, stateDir, logger, ...more } = options;
  const { allowedHostTools = [], onToolRequest, toolRequestTimeoutMs, onDecision, ...given } = more;
  checkOptions(given, allowedHostTools);
  if (codecell && sandboxPolicy !== undefined) {
    throw new CodecellError("usage", "pass either codecell or sandboxPolicy", {
      hint: "a codecell has its own policy",
    });
  }
  const gate: SandboxGateOptions = {
    allowedHostTools: given.outputFormat ? [...allowedHostTools, structuredOutput] : allowedHostTools,
    ...(onToolRequest ? { onToolRequest } : {}),
    ...(toolRequestTimeoutMs === undefined ? {} : { toolRequestTimeoutMs }),
  };
  const place = { sandboxPolicy, codecell, stateDir, logger };
  return DeferredQuery.start(
    async (signal) => open({ prompt, given, gate, allowedHostTools, place, onSession, onDecision, signal }),
    given.abortController?.signal,
  );
}

/** The SDK has the model call this tool to return `outputFormat`. It reaches nothing. */
const structuredOutput = "StructuredOutput";

interface Opening {
  readonly prompt: string | AsyncIterable<SDKUserMessage>;
  readonly given: Options;
  readonly gate: SandboxGateOptions;
  readonly allowedHostTools: readonly string[];
  readonly place: Place;
  readonly onSession: SandboxOptions["onSession"];
  readonly onDecision: SandboxOptions["onDecision"];
  readonly signal: AbortSignal;
}

async function open({ prompt, given, gate, allowedHostTools, place, onSession, onDecision, signal }: Opening) {
  await using cleanup = new Cleanup();
  const sdk = await loadAgentSdk();
  const { codecell, policy, changes, ...borrowed } = await codecellFor(place);
  cleanup.defer(() => borrowed[Symbol.asyncDispose]());
  signal.throwIfAborted();
  const allowedCalls = new Set<string>();
  const seenCalls = new Set<string>();
  const { logger = silentLogger } = place;
  const code = await openCodeServer(sdk, codecell, {
    ...{ logger, signal, isCallAllowed: (id) => id !== undefined && allowedCalls.delete(id) },
  });
  cleanup.defer(() => code[Symbol.asyncDispose]());
  signal.throwIfAborted();
  const { session } = code;
  const receipt = await session.receipt();
  const { audit } = codecell;
  if (changes.length > 0) await audit?.policyChanging("host", { hash: policyHash(policy), changes }, session.key);
  const told = async () => onSession?.({ session, receipt, policy: session.policy, changes });
  await unlessAborted(told(), signal, "the query did not start");
  const record = async (decision: ToolDecision) => {
    const { request, isAllowed } = decision;
    const { tool, server, agentId: agent, toolUseId, isSandbox } = request;
    const write = async ({ isAllowed, reason }: Pick<ToolDecision, "isAllowed" | "reason">) => {
      audit?.toolDecided(session.key, { isAllowed, tool, server, agent, reason });
      await audit?.settled();
    };
    seenCalls.add(toolUseId);
    try {
      await onDecision?.(decision);
    } catch (error) {
      // The gate denies this call now, and the audit must not say otherwise.
      await write(isAllowed ? { isAllowed: false, reason: "the decision could not be recorded" } : decision);
      throw error;
    }
    await write(decision);
    if (isAllowed && isSandbox) allowedCalls.add(toolUseId);
  };
  const state = { hooksRan: false };
  const canary = {
    hooks: [
      async () => {
        state.hooksRan = true;
        return {};
      },
    ],
  };
  const parts = { server: code.server, gate: sandboxGate({ ...gate, onDecision: record }), canary, allowedHostTools };
  const query = sdk.query({ prompt, options: sandboxedOptions(given, parts) });
  const isPlain = typeof prompt === "string" && !prompt.trimStart().startsWith("/");
  return {
    query,
    server: code.server,
    stopRuns: () => code.stopRuns(),
    hooksRan: () => state.hooksRan,
    gateSaw: (id: string) => seenCalls.has(id),
    /** Claude Code answers some slash commands by itself, without hooks. Any other prompt runs them before the model is asked. */
    isPlain,
    cleanup: cleanup.move(),
  };
}

interface Place {
  readonly sandboxPolicy: SandboxPolicy | undefined;
  readonly codecell: Codecell | undefined;
  readonly stateDir: string | undefined;
  readonly logger: Logger | undefined;
}

async function codecellFor({ sandboxPolicy, codecell, stateDir, logger }: Place) {
  if (codecell) {
    return { codecell, policy: codecell.policy, changes: [], async [Symbol.asyncDispose]() {} };
  }
  const { policy, changes } = await effectivePolicy(sandboxPolicy);
  const options = { policy, ...(stateDir === undefined ? {} : { stateDir }), ...(logger ? { logger } : {}) };
  const borrowed: BorrowedCodecell = await sharedCodecells.borrow(`${policyHash(policy)} ${stateDir ?? ""}`, () =>
    Codecell.open(options),
  );
  return { ...borrowed, policy, changes };
}
