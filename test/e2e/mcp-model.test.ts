import { rm } from "node:fs/promises";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, test } from "vitest";
import { newClient, newTestDirectories, serverArguments } from "./mcp-client.ts";

async function toolNames(args: readonly string[], env: Record<string, string>): Promise<string[]> {
  const directories = await newTestDirectories();
  const client = newClient("legacy");
  try {
    const start = {
      command: process.execPath,
      args: [...serverArguments(directories), ...args],
      cwd: directories.project,
    };
    await client.connect(new StdioClientTransport({ ...start, env: { PATH: "/usr/bin:/bin", ...env } }));
    return (await client.listTools()).tools.map(({ name }) => name);
  } finally {
    await client.close();
    await rm(directories.top, { recursive: true, force: true });
  }
}

test("rlm_sub_agent is not offered if no model is configured", async () => {
  expect(await toolNames([], {})).not.toContain("rlm_sub_agent");
});

test.each([
  ["--model", ["--model", "some-model"], {}],
  ["CODECELL_MODEL", [], { CODECELL_MODEL: "some-model" }],
  ["ANTHROPIC_API_KEY", [], { ANTHROPIC_API_KEY: "some-key" }],
] as const)("rlm_sub_agent is not offered with %s either, because it does not work yet", async (_, args, env) => {
  expect(await toolNames(args, env)).not.toContain("rlm_sub_agent");
});

test("rlm_sub_agent is never in the tool set without rlm tools", async () => {
  expect(await toolNames(["--tools", "interpreter", "--model", "some-model"], {})).not.toContain("rlm_sub_agent");
});
