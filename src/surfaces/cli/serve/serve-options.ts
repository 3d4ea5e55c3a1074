import { CodecellError } from "../../../lib/errors.ts";
import { policyOptions } from "../policy/policy-options.ts";
import { commonOptions, type parseArguments } from "../shell/arguments.ts";
import { logOptions } from "../shell/log-options.ts";
import { limitOptions } from "./serve-limits.ts";

export const serveOptions = {
  host: { type: "string", value: "ADDRESS", help: "Where to listen. Default: 127.0.0.1." },
  port: { type: "string", value: "PORT", help: "Default: 7410; 0 is any that is free." },
  tokens: {
    type: "string",
    value: "FILE",
    help: "Token file (mode 600). Default: tokens.json in the state directory.",
  },
  "public-url": { type: "string", value: "URL", help: "Where clients reach the service, for links to files." },
  "allow-host": { type: "string", multiple: true, value: "NAME", help: "One more name of this service. Repeatable." },
  "open-metrics": { type: "boolean", help: "Let this machine read /metrics without a token." },
  drain: { type: "string", value: "10s", help: "How long a shutdown waits for what runs. Default: 10s." },
  ...limitOptions,
  tools: { type: "string", value: "all|interpreter|rlm", help: "Which tools /mcp offers. Default: all." },
  "print-openapi": { type: "boolean", help: "Print the OpenAPI document and leave." },
  "state-dir": { type: "string", value: "DIR", help: "Where sessions are kept. Default: $XDG_STATE_HOME/codecell." },
  "runtime-dir": { type: "string", value: "DIR", help: "Where locks are kept. Default: $XDG_RUNTIME_DIR/codecell." },
  ...policyOptions,
  json: { type: "boolean", help: "Print the address and the limits as JSON on standard output." },
  verbose: { type: "boolean", help: "Say on stderr what happens." },
  ...logOptions,
  ...commonOptions,
} as const;

export type ServeFlags = ReturnType<typeof parseArguments<typeof serveOptions>>["values"];

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Without a slash at its end; only what a browser takes as a place of a service. */
export function parsePublicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "" && url.username === "") {
    return url.href.replace(/\/+$/, "");
  }
  throw new CodecellError("usage", `--public-url ${text} is not an address`, { hint: "such as https://cells.example" });
}
