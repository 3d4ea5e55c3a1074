import type { Command } from "../command.ts";
import { serveOptions } from "../serve/serve-options.ts";

export const serveCommand: Command = {
  name: "serve",
  summary: "Serve sessions over HTTP: REST, events, MCP and a dashboard",
  usage: "codecell serve [--port PORT] [--tokens FILE] [options]",
  options: serveOptions,
  notes: [
    "The dashboard is at /. The service prints a link to it; without a token of yours, the link has the temporary token in its fragment, which browsers do not send.",
    "REST is at /v1 (see --print-openapi), MCP at /mcp, and Prometheus metrics at /metrics.",
    "`codecell token create` creates tokens. Each token has its own sessions, which no other token can see. CODECELL_TOKEN sets a single token for one user. With neither, the service creates a temporary token and listens on this machine only.",
    "The service uses plain HTTP. To serve other machines, put a TLS proxy in front of it and set --public-url; docs/http.md has an example.",
    "SIGHUP reloads the policy. Network rules apply at once to every session, and connections that they no longer allow are closed. The log names other rules that changed; those need a restart. If stderr is a terminal, SIGHUP means that it was closed, and is handled as SIGTERM.",
    "On SIGTERM or SIGINT the service refuses new work, waits up to --drain for runs to finish, and saves persistent sessions. A second signal exits at once.",
  ],
  examples: [
    ["codecell serve", "on this machine, with a temporary token"],
    ["codecell serve --open", "and open the dashboard in a browser"],
    ["codecell token create ci --scopes run && codecell serve", "with permanent tokens"],
    ["codecell serve --public-url https://cells.example", "behind a proxy with this address"],
    [
      "codecell serve --database postgres://codecell@db/codecell?sslmode=verify-full",
      "as one of several gateways (docs/gateways.md)",
    ],
    ["codecell serve --max-runs 8 --max-body 1MiB --json", "with lower limits, printed as JSON"],
    ["codecell serve --print-openapi > openapi.json", "the OpenAPI document, for client generators"],
  ],
  async run(argv, context) {
    const { serveHttp } = await import("../serve/serve-run.ts"); // loaded here so that other commands start faster
    return serveHttp(argv, context);
  },
};
