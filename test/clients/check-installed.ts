import { existsSync } from "node:fs";
import { join } from "node:path";
import { versionOf } from "./installed.ts";

const clients = [
  "@anthropic-ai/claude-agent-sdk",
  "@modelcontextprotocol/conformance",
  "@modelcontextprotocol/inspector",
  "@modelcontextprotocol/sdk",
];

/** Runs before all tests: prints which clients are tested, or how to install them. */
export function setup(): void {
  if (!existsSync(join(import.meta.dirname, "node_modules"))) {
    throw new Error("the clients are not installed: npm ci --prefix test/clients --ignore-scripts");
  }
  for (const name of clients) process.stderr.write(`client: ${name} ${versionOf(name)}\n`);
}
