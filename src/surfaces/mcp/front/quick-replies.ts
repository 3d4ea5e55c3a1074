import type { LazySandbox } from "../../../service/lazy-sandbox.ts";
import { instructionsFor } from "../../../service/tools/instructions.ts";
import { limitsText } from "../../../service/tools/policy-facts.ts";
import { toolHints } from "../../../service/tools/tool-hints.ts";
import type { ToolsetName } from "../../../service/tools/toolset-name.ts";
import type { ListedTool, McpListing } from "./listing.ts";
import { isPlainInitialize, isPlainMessage, type PlainMessage } from "./plain-messages.ts";

/**
 * The replies to the messages that every client sends first, exactly as the MCP SDK writes them. Whatever differs in any way from
 * what clients usually send is left to the SDK.
 */
export class QuickReplies {
  readonly #listing: McpListing;
  readonly #sandbox: Pick<LazySandbox, "facts" | "effects">;
  readonly #toolset: ToolsetName;
  readonly #replay: string[] = [];

  constructor(listing: McpListing, sandbox: Pick<LazySandbox, "facts" | "effects">, toolset: ToolsetName) {
    this.#listing = listing;
    this.#sandbox = sandbox;
    this.#toolset = toolset;
  }

  /** The answered messages that the SDK must get before the next one, each with its line end. */
  get replay(): readonly string[] {
    return this.#replay;
  }

  /** The line to write, "" if the message gets no reply, or undefined if the SDK has to answer. */
  answer(line: string): string | undefined {
    const message = parsed(line);
    if (!isPlainMessage(message)) return undefined;
    const isOpen = this.#replay.length > 0;
    if (!isOpen) {
      if (!isPlainInitialize(message, this.#listing.versions)) return undefined;
      this.#replay.push(`${line}\n`);
      return reply(message, this.#initialized(message.params.protocolVersion));
    }
    if (message.method === "notifications/initialized" && message.id === undefined && this.#replay.length === 1) {
      this.#replay.push(`${line}\n`);
      return "";
    }
    if (message.id === undefined || Object.keys(message.params ?? {}).length > 0) return undefined;
    if (message.method === "ping") return reply(message, {});
    if (message.method === "tools/list")
      return reply(message, { tools: this.#listing.tools.map((one) => this.#tool(one)) });
    return undefined;
  }

  #initialized(protocolVersion: string): object {
    const instructions = instructionsFor(this.#toolset, this.#sandbox.facts);
    return { ...this.#listing.initialize, protocolVersion, instructions };
  }

  #tool({ listed, hasLimits, ...tool }: ListedTool): object {
    const { facts, effects } = this.#sandbox;
    const description = hasLimits && facts ? `${listed.description} ${limitsText(facts)}` : listed.description;
    return { ...listed, description, annotations: toolHints(tool, effects) };
  }
}

function reply({ id }: PlainMessage, result: object): string {
  return `${JSON.stringify({ result, jsonrpc: "2.0", id })}\n`;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
