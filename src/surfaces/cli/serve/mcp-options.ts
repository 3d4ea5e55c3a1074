import { CodecellError } from "../../../lib/errors.ts";
import { type ToolsetName, toolsetNames } from "../../../service/tools/toolset-name.ts";
import { policyOptions } from "../policy/policy-options.ts";
import { commonOptions, type parseArguments } from "../shell/arguments.ts";
import { logOptions } from "../shell/log-options.ts";
import { modelOptions } from "../shell/model-options.ts";

export const mcpOptions = {
  tools: { type: "string", value: "all|interpreter|rlm", help: "Which tools to offer. Default: all." },
  structured: {
    type: "boolean",
    help: "Answer with structured content too, and list output schemas: for programs. Models need more tokens for it.",
  },
  ...modelOptions,
  "tools-from": {
    type: "string",
    value: "FILE",
    help: "Connect to the MCP servers in this JSON file, and let code call their tools that the policy permits.",
  },
  http: { type: "boolean", help: "Serve Streamable HTTP instead of standard input and output." },
  host: { type: "string", value: "ADDRESS", help: "With --http: address to listen on. Default: 127.0.0.1." },
  port: { type: "string", value: "PORT", help: "With --http: port to listen on. Default: 0, any free port." },
  "token-file": { type: "string", value: "FILE", help: "With --http: read the token from a file (mode 600)." },
  "state-dir": {
    type: "string",
    value: "DIR",
    help: "Directory of sessions and the audit. Default: $XDG_STATE_HOME/codecell.",
  },
  "runtime-dir": {
    type: "string",
    value: "DIR",
    help: "Directory of locks and of the files of running cells. Default: $XDG_RUNTIME_DIR/codecell, or /run/codecell for root.",
  },
  ...policyOptions,
  verbose: { type: "boolean", help: "Print progress to stderr." },
  ...logOptions,
  ...commonOptions,
} as const;

export function parseToolset(text: string | undefined): ToolsetName {
  const name = toolsetNames.find((one) => one === (text ?? "all"));
  if (name !== undefined) return name;
  throw new CodecellError("usage", `unknown toolset ${JSON.stringify(text)}`, {
    hint: `use one of: ${toolsetNames.join(", ")}`,
  });
}

export function parsePort(text: string | undefined): number {
  const port = Number(text ?? "0");
  if (/^\d{1,5}$/.test(text ?? "0") && port <= 65_535) return port;
  throw new CodecellError("usage", `--port ${text} is not a valid port`, { hint: "use a number from 0 to 65535" });
}

export type McpFlags = ReturnType<typeof parseArguments<typeof mcpOptions>>["values"];

/** Rejects HTTP flags without `--http`. Otherwise the user would wait for a server that does not listen. */
export function assertHttpFlags(flags: McpFlags): void {
  const unused = (["host", "port", "token-file"] as const).find((name) => flags[name] !== undefined);
  if (flags.http || unused === undefined) return;
  throw new CodecellError("usage", `--${unused} has no effect without --http`, {
    hint: "add --http",
  });
}
