import type { Audit } from "../../audit/audit.ts";
import { messageOf } from "../../lib/errors.ts";
import { DeadlinePassed, deadline } from "../../lib/waiting/deadline.ts";
import { formatDuration, formatSize } from "../../policy/format-units.ts";
import { allowsTool } from "../../policy/host-calls/tool-glob.ts";
import type { Policy } from "../../policy/schema.ts";
import type { HostCallContext, HostFunction } from "../../sessions/functions/host-function.ts";
import { functionNames } from "./function-names.ts";
import type { RunCounter } from "./run-counter.ts";
import { ToolCallError, type ToolCallStatus } from "./tool-call-error.ts";
import { toolParameters } from "./tool-parameters.ts";
import { toolValue } from "./tool-value.ts";
import type { UpstreamTool } from "./upstream-client.ts";
import type { UpstreamServer } from "./upstream-server.ts";

const maxDescriptionCharacters = 2_000;
/** of all servers together: a model cannot overlook more, and each one costs the cell a function */
const maxFunctions = 200;
/** of all descriptions together: a cell takes 1 MiB */
const maxDescribedCharacters = 256 * 1024;
/** What a call takes at most beside the tool itself. */
const slackMs = 2_000;

export interface ToolFunctionsOptions {
  readonly servers: readonly UpstreamServer[];
  /** id of the session that calls, as the audit knows it */
  readonly session: string;
  /** the policy in force: it may change while a session is open */
  readonly policy: () => Policy;
  readonly audit: Audit;
  readonly calls: RunCounter;
}

/** A function that takes its arguments by name. */
export type ToolFunction = HostFunction<Readonly<Record<string, unknown>>>;

/** The tools of all servers that the policy permits now, as functions for a cell. */
export function toolFunctions(options: ToolFunctionsOptions): Record<string, ToolFunction> {
  const { allow, timeoutMs } = options.policy().tools;
  const permitted = options.servers.flatMap((server) =>
    server.tools
      .filter(({ name, isReadOnly }) => allowsTool(allow, { server: server.name, tool: name, isReadOnly }))
      .map((tool) => ({ server: server.name, tool: tool.name, listed: tool, upstream: server })),
  );
  const named = [...functionNames(permitted.slice(0, maxFunctions))];
  let room = maxDescribedCharacters;
  return Object.fromEntries(
    named.flatMap(([name, { listed, upstream }]) => {
      const { input, toArguments } = toolParameters(listed.inputSchema);
      const description = describe(listed, upstream.name);
      room -= JSON.stringify([name, description, input]).length;
      if (room < 0) return [];
      const call: ToolFunction["call"] = (given, context) =>
        callTool(upstream, listed.name, toArguments(given), context, options);
      return [[name, { description, input, timeoutMs: timeoutMs + slackMs, call }]];
    }),
  );
}

function describe({ name, description }: UpstreamTool, server: string): string {
  const text = description.trim().slice(0, maxDescriptionCharacters);
  return `${text}${text === "" ? "" : "\n\n"}Calls the tool ${name} of the MCP server ${server}.`;
}

async function callTool(
  server: UpstreamServer,
  tool: string,
  input: Readonly<Record<string, unknown>>,
  context: HostCallContext,
  options: ToolFunctionsOptions,
): Promise<unknown> {
  const started = performance.now();
  const sizes = { argumentsBytes: 0, resultBytes: 0 };
  let status: ToolCallStatus = "ok";
  try {
    const { tools } = options.policy();
    sizes.argumentsBytes = Buffer.byteLength(JSON.stringify(input) ?? "");
    const called = options.calls.add(context.sessionId, context.run);
    refuseOverLimit({ server, tool, called, argumentsBytes: sizes.argumentsBytes, tools });
    using limit = deadline(tools.timeoutMs, context.signal);
    const answer = await callWithin(server, tool, input, limit.signal, tools.timeoutMs);
    const { value, bytes } = toolValue(answer, tools.resultBytes);
    sizes.resultBytes = bytes;
    return value;
  } catch (error) {
    status = error instanceof ToolCallError ? error.status : "unavailable";
    throw error;
  } finally {
    const durationMs = performance.now() - started;
    const { session, audit } = options;
    const call = { session, run: context.run, server: server.name, tool };
    audit.record({ type: "tool.called", ...call, status, ...sizes, durationMs });
  }
}

interface CheckedCall {
  readonly server: UpstreamServer;
  readonly tool: string;
  readonly called: number;
  readonly argumentsBytes: number;
  readonly tools: Policy["tools"];
}

function refuseOverLimit({ server, tool, called, argumentsBytes, tools }: CheckedCall): void {
  const refuse = (why: string) => {
    throw new ToolCallError("refused", why);
  };
  if (called > tools.calls) refuse(`this run made ${tools.calls} calls of tools, and tools.calls permits no more`);
  // The attack: a server that marks a tool as read-only, and takes the mark back when code can call it.
  const listed = server.tools.find(({ name }) => name === tool);
  const isReadOnly = listed?.isReadOnly === true;
  if (listed === undefined) refuse(`the MCP server ${server.name} no longer has the tool ${tool}`);
  if (!allowsTool(tools.allow, { server: server.name, tool, isReadOnly }))
    refuse(`tools.allow does not permit ${server.name}/${tool}${isReadOnly ? "" : ", which may change something"}`);
  if (argumentsBytes > tools.argumentsBytes) {
    const [given, most] = [formatSize(argumentsBytes), formatSize(tools.argumentsBytes)];
    refuse(`the arguments have ${given}, and tools.arguments permits ${most}`);
  }
}

async function callWithin(
  server: UpstreamServer,
  tool: string,
  input: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
  timeoutMs: number,
) {
  try {
    const client = await server.client(signal);
    return await client.callTool(tool, input, signal);
  } catch (error) {
    if (signal.reason instanceof DeadlinePassed) {
      const message = `${server.name}/${tool} did not answer within ${formatDuration(timeoutMs)}`;
      throw new ToolCallError("timeout", message, { cause: error });
    }
    if (signal.aborted) throw new ToolCallError("cancelled", "the call was cancelled", { cause: error });
    if (error instanceof ToolCallError) throw error;
    const message = `${server.name}/${tool} failed: ${messageOf(error).slice(0, 1_000)}`;
    throw new ToolCallError("unavailable", message, { cause: error });
  }
}
