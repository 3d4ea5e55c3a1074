import { unlimited } from "../../policy/host-calls/llm-rules.ts";
import type { HostRuleName } from "../../policy/rules.ts";
import type { Policy } from "../../policy/schema.ts";

/** What code in a cell can reach through functions of the host, in this call. */
export interface HostCalls {
  /** whether the gateway to models is set up */
  readonly models: boolean;
  /** whether other MCP servers are set up */
  readonly tools: boolean;
}

export type ToolRuleName = Extract<HostRuleName, `tools.${string}`>;
export type LlmRuleName = Extract<HostRuleName, `llm.${string}`>;

/** How the host's gateway to models enforces each rule. */
const byGateway: Readonly<Record<LlmRuleName, (policy: Policy) => string>> = {
  "llm.models": () => "the host's gateway refuses other models before anything is sent",
  "llm.calls": () => "the host counts the calls of each session, and those below each sub-agent; more are refused",
  "llm.tokens": () => "the host's gateway reserves the worst case of a call before it is sent; more is refused",
  "llm.usd": ({ llm }) =>
    llm.usd === unlimited
      ? "money is not limited; calls and tokens are"
      : "the host's gateway reserves the worst case of a call before it is sent; more is refused",
  "llm.depth": () => "the host starts no sub-agent below this depth",
  "llm.concurrency": () => "the host's gateway lets further calls wait",
  "llm.promptChars": () => "the host's gateway refuses longer prompts before anything is sent",
  "llm.callTimeout": () => "the host cancels the request",
  "llm.timeout": () => "the host cancels the whole tree",
};

/** Pure: how a rule about models is enforced. Where nothing can call a model, that is what the row says. */
export function heldForModels(rule: LlmRuleName, policy: Policy, { models }: HostCalls): string {
  if (policy.llm.models.length === 0) return "the cell has no function that calls a model";
  if (!models) return "not used: no model is set up here, and the cell has no function that calls one";
  return byGateway[rule](policy);
}

/** How the host, which is the client of the other MCP servers, enforces each rule. */
const byClient: Readonly<Record<ToolRuleName, string>> = {
  "tools.allow":
    "the cell has functions for these tools only, and the host checks each call; a glob permits read-only tools",
  "tools.calls": "the host counts the calls of each run; more are refused",
  "tools.timeout": "the host cancels the call",
  "tools.arguments": "the host measures them before anything is sent",
  "tools.result": "the host measures it; a larger one is not passed on",
};

/** Pure: how a rule about tools is enforced. Where nothing can call a tool, that is what the row says. */
export function heldForTools(rule: ToolRuleName, { tools: { allow } }: Policy, { tools }: HostCalls): string {
  if (allow.length === 0) return "the cell has no function that calls a tool of an MCP server";
  if (!tools) return "not used: no other MCP server is set up here, and the cell has no function that calls one";
  return byClient[rule];
}
