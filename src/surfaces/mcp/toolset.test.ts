import { readFile } from "node:fs/promises";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { z } from "zod";
import { SandboxDoor } from "./sandbox-door.ts";
import { buildMcpServer, type McpServerOptions } from "./server.ts";

const door = new SandboxDoor({
  projectDir: "/nowhere",
  open: () => Promise.reject(new Error("it must not be opened")),
});

async function listed(options: Partial<McpServerOptions> = {}) {
  const effects = { writesHost: false, reachesNetwork: false };
  const server = buildMcpServer(door, { version: "1", tools: "all", effects, ...options });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(near);
  const { tools } = await client.listTools();
  const { resources } = await client.listResources();
  await client.close();
  return { tools, resources, instructions: client.getInstructions() ?? "" };
}

test("listing opens nothing", async () => {
  const { tools, resources } = await listed();
  expect(tools).toHaveLength(16);
  expect(resources).toEqual([]);
  expect(door.opened).toBeUndefined();
});

test("every tool is described shortly enough for clients that cut", async () => {
  const { tools, instructions } = await listed({ hasModel: true });
  for (const { name, description = "" } of tools) {
    expect(description.length, name).toBeGreaterThan(50);
    expect(description.length, name).toBeLessThan(2_000);
  }
  expect(instructions.length).toBeLessThan(2_000);
});

test("no tool takes an argument that it does not know", async () => {
  const { tools } = await listed();
  for (const { name, inputSchema } of tools) expect(inputSchema.additionalProperties, name).toBe(false);
});

test("hints follow what the policy lets code do", async () => {
  const run = async (effects: McpServerOptions["effects"]) =>
    (await listed({ effects })).tools.find(({ name }) => name === "run_python")?.annotations;
  expect(await run({ writesHost: false, reachesNetwork: false })).toMatchObject({
    ...{ readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  });
  expect(await run({ writesHost: true, reachesNetwork: true })).toMatchObject({
    ...{ destructiveHint: true, openWorldHint: true },
  });
});

test("the main tools stay in a model's context", async () => {
  const { tools } = await listed();
  const main = tools.filter(({ _meta }) => _meta?.["anthropic/alwaysLoad"] === true).map(({ name }) => name);
  expect(main.sort()).toEqual(["get_run", "rlm_exec", "rlm_load", "run_python"]);
});

test("the sub-agent is offered only where a model is configured", async () => {
  const names = async (hasModel: boolean) => (await listed({ hasModel })).tools.map(({ name }) => name);
  expect(await names(false)).not.toContain("rlm_sub_agent");
  expect(await names(true)).toContain("rlm_sub_agent");
});

test("docs/tools.md has every tool with its parameters", async () => {
  const page = await readFile(new URL("../../../docs/tools.md", import.meta.url), "utf8");
  const { tools } = await listed({ hasModel: true });
  for (const { name, inputSchema } of tools) {
    const heading = page.match(new RegExp(`^### ${name}\\((.*)\\)$`, "m"));
    const parameters = heading === null ? ["missing"] : [...(heading[1]?.match(/\w+/g) ?? [])];
    expect(parameters.sort(), name).toEqual(Object.keys(inputSchema.properties ?? {}).sort());
  }
});

test("docs/tools.md shows answers that are valid", async () => {
  const page = await readFile(new URL("../../../docs/tools.md", import.meta.url), "utf8");
  const { tools } = await listed();
  for (const { name, outputSchema } of tools) {
    const section = page.slice(page.indexOf(`\n### ${name}(`) + 1).split(/\n###? /)[0] ?? "";
    const [, answer = "null"] = [...section.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text]) => text);
    const schema = z.fromJSONSchema(outputSchema as Parameters<typeof z.fromJSONSchema>[0]);
    expect(schema.safeParse(JSON.parse(answer)).error, name).toBeUndefined();
  }
});
