import type { Command } from "../command.ts";
import { serveOptions } from "../serve/serve-options.ts";

export const serveCommand: Command = {
  name: "serve",
  summary: "Serve sessions over HTTP: REST, events and MCP",
  usage: "codecell serve [--port PORT] [--tokens FILE] [options]",
  options: serveOptions,
  notes: [
    "REST is under /v1 (its description: --print-openapi), MCP under /mcp, counters for Prometheus under /metrics.",
    "Tokens: `codecell token create` makes them, each with sessions of its own that no other token sees. CODECELL_TOKEN is one token for one user. Without either, a token is made for this start, and only this machine is served.",
    "The service speaks plain HTTP. For other machines put a proxy with TLS in front, and tell --public-url; docs/http.md has an example.",
    "SIGHUP: the policy is read again. The rules of the network hold at once, in every session, and connections that they do not allow are closed; other rules that changed are named, and need a restart. In a terminal that closes, it means SIGTERM.",
    "SIGTERM and SIGINT: nothing new is taken, runs have --drain to end, sessions that persist are saved. A second one leaves at once.",
  ],
  examples: [
    ["codecell serve", "on this machine, with a token made for this start"],
    ["codecell token create --name ci --scopes run && codecell serve", "with tokens that stay"],
    ["codecell serve --public-url https://cells.example", "behind a proxy that has this name"],
    ["codecell serve --max-runs 8 --max-body 1MiB --json", "with tighter limits, and print those that hold"],
    ["codecell serve --print-openapi > openapi.json", "the document for generators of clients"],
  ],
  async run(argv, context) {
    const { serveHttp } = await import("../serve/serve-run.ts"); // no other command pays for the protocol
    return serveHttp(argv, context);
  },
};
