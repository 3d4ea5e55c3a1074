import { CodecellError } from "../../../lib/errors.ts";
import { policyOptions } from "../policy/policy-options.ts";
import { commonOptions, type parseArguments } from "../shell/arguments.ts";
import { databaseOptions } from "../shell/database-options.ts";
import { logOptions } from "../shell/log-options.ts";
import { modelOptions } from "../shell/model-options.ts";
import { gatewayOptions } from "./serve-gateways.ts";
import { limitOptions } from "./serve-limits.ts";
import { webAddress } from "./web-address.ts";

export const serveOptions = {
  host: { type: "string", value: "ADDRESS", help: "Address to listen on. Default: 127.0.0.1." },
  port: { type: "string", value: "PORT", help: "Port to listen on; 0 means any free port. Default: 7410." },
  tokens: {
    type: "string",
    value: "FILE",
    help: "Token file (mode 600). Default: tokens.json in the state directory.",
  },
  ...databaseOptions,
  ...gatewayOptions,
  "create-token": {
    type: "string",
    value: "NAME",
    help: "If there is no token yet, create one with every scope, keep it with the tokens, and print it.",
  },
  "public-url": { type: "string", value: "URL", help: "Public address of the service, for links to files." },
  "allow-host": {
    type: "string",
    multiple: true,
    value: "NAME",
    help: "Additional host name of this service; a local one with its port. Repeatable.",
  },
  open: { type: "boolean", help: "Open the dashboard in a browser." },
  "no-dashboard": { type: "boolean", help: "Do not serve the dashboard." },
  "open-metrics": { type: "boolean", help: "Let this machine read /metrics without a token." },
  drain: { type: "string", value: "10s", help: "How long a shutdown waits for running code. Default: 10s." },
  ...limitOptions,
  tools: { type: "string", value: "all|interpreter|rlm", help: "Which tools /mcp offers. Default: all." },
  structured: { type: "boolean", help: "Let /mcp answer with structured content too, and list output schemas." },
  ...modelOptions,
  "print-openapi": { type: "boolean", help: "Print the OpenAPI document and exit." },
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
  json: { type: "boolean", help: "Print the address and the limits as JSON to stdout." },
  verbose: { type: "boolean", help: "Print progress to stderr." },
  ...logOptions,
  ...commonOptions,
} as const;

export type ServeFlags = ReturnType<typeof parseArguments<typeof serveOptions>>["values"];

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Returns the URL without a trailing slash. Accepts only http and https URLs without credentials, query or fragment. */
export function parsePublicUrl(text: string): string {
  const address = webAddress(text);
  if (address !== undefined) return address;
  throw new CodecellError("usage", `--public-url ${text} is not a valid URL`, {
    hint: "use a URL such as https://cells.example",
  });
}
