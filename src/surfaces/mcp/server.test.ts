import { readFile } from "node:fs/promises";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { z } from "zod";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { LazySandbox } from "../../service/lazy-sandbox.ts";
import { estimateTokens } from "../../service/output/estimate-tokens.ts";
import { policyFacts, strictestFacts } from "../../service/tools/policy-facts.ts";
import type { HostEffects } from "../../service/tools/tool-hints.ts";
import { createMcpServer, type McpServerOptions } from "./server.ts";

const newSandbox = (effects: HostEffects) =>
  new LazySandbox({ projectDir: "/nowhere", open: () => Promise.reject(new Error("it must not be opened")), effects });
const sandbox = newSandbox({ writesHost: false, reachesNetwork: false });

async function listed(options: McpServerOptions = {}, from = sandbox) {
  const server = createMcpServer(from, options);
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(near);
  const { tools } = await client.listTools();
  const { resources } = await client.listResources();
  const instructions = client.getInstructions() ?? "";
  await client.close();
  return { tools, resources, instructions };
}

test("listing tools and resources opens no sandbox", async () => {
  const { tools, resources } = await listed();
  expect(tools).toHaveLength(13);
  expect(resources).toEqual([]);
  expect(sandbox.opened).toBeUndefined();
});

test("tool descriptions are short enough that clients do not truncate them", async () => {
  const { tools, instructions } = await listed({ hasModel: true });
  for (const { name, description = "" } of tools) {
    expect(description.length, name).toBeGreaterThan(50);
    expect(description.length, name).toBeLessThan(2_000);
  }
  expect(instructions.length).toBeGreaterThan(500);
  expect(instructions.length).toBeLessThan(2_000);
});

test("every tool rejects unknown arguments", async () => {
  const { tools } = await listed();
  for (const { name, inputSchema } of tools) expect(inputSchema.additionalProperties, name).toBe(false);
});

test("the names of the tools that other projects use are in the default set", async () => {
  const names = (await listed()).tools.map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining([
      ...["run_python", "close_session", "upload_file", "list_artifacts", "read_artifact"],
      ...["rlm_exec", "rlm_load", "rlm_get", "rlm_vars", "rlm_reset"],
    ]),
  );
});

test.each([
  ["all", 2_500],
  ["interpreter", 1_500],
  ["rlm", 1_500],
] as const)("listing the tools of %s costs at most %i tokens", async (tools, tokens) => {
  const withFacts = new LazySandbox({ projectDir: "/nowhere", open: () => Promise.reject(), facts: strictestFacts });
  const list = (await listed({ tools }, withFacts)).tools;
  expect(estimateTokens(JSON.stringify({ tools: list }))).toBeLessThanOrEqual(tokens);
});

test("tools have output schemas only if structured content is requested", async () => {
  expect((await listed()).tools.filter(({ outputSchema }) => outputSchema !== undefined)).toEqual([]);
  const structured = (await listed({ structured: true })).tools;
  expect(structured.filter(({ outputSchema }) => outputSchema === undefined)).toEqual([]);
});

test("the instructions and the tools that run code state the limits of the policy", async () => {
  const facts = policyFacts(
    parsePolicy({
      proc: { timeout: "90s", memory: "3GiB" },
      net: { enabled: true, allowlist: ["api.example.org"] },
      fs: { mounts: [{ source: "/srv/data", target: "/data" }] },
    }),
  );
  const there = new LazySandbox({ projectDir: "/nowhere", open: () => Promise.reject(), facts });
  const { tools, instructions } = await listed({}, there);
  const run = tools.find(({ name }) => name === "run_python")?.description ?? "";
  for (const fact of ["90s", "3GiB", "api.example.org"]) {
    expect(run).toContain(fact);
    expect(instructions).toContain(fact);
  }
  expect(instructions).toContain("/data");
  expect(instructions).not.toContain("/srv");
  expect((await listed()).instructions).not.toContain("Limits");
});

test("a server without a policy file states the limits of the empty policy", () => {
  expect(strictestFacts).toEqual(policyFacts(parsePolicy({})));
});

test("the hints of run_python depend on the policy", async () => {
  const run = async (effects: HostEffects) =>
    (await listed({}, newSandbox(effects))).tools.find(({ name }) => name === "run_python")?.annotations;
  expect(await run({ writesHost: false, reachesNetwork: false })).toMatchObject({
    ...{ readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  });
  expect(await run({ writesHost: true, reachesNetwork: true })).toMatchObject({
    ...{ destructiveHint: true, openWorldHint: true },
  });
});

test("the main tools are marked to stay in a model's context", async () => {
  const { tools } = await listed();
  const main = tools.filter(({ _meta }) => _meta?.["anthropic/alwaysLoad"] === true).map(({ name }) => name);
  expect(main.sort()).toEqual(["get_run", "rlm_exec", "rlm_load", "run_python"]);
});

test("the sub-agent tool is offered only where it works", async () => {
  const names = async (hasModel: boolean) => (await listed({ hasModel })).tools.map(({ name }) => name);
  expect(await names(false)).not.toContain("rlm_sub_agent");
  expect(await names(true)).toContain("rlm_sub_agent");
});

test("bash and checkpoints are not offered if the policy names a runner without them", async () => {
  const under = (runner: "wasm" | "process" | "auto", options: McpServerOptions = {}) => {
    const facts = policyFacts(parsePolicy({ isolation: { runner } }));
    return listed(options, new LazySandbox({ projectDir: "/nowhere", open: () => Promise.reject(), facts }));
  };
  const { tools, instructions } = await under("wasm");
  const run = tools.find(({ name }) => name === "run_python");
  expect(run?.description).toMatch(/^Run Python in an isolated session/);
  expect(Object.keys(run?.inputSchema.properties ?? {})).toEqual(["code", "session_id", "timeout", "wait"]);
  expect(instructions).toMatch(/^run_python runs Python in an isolated session/);
  expect(JSON.stringify([tools, instructions])).not.toMatch(/bash/);
  const missing = (await listed()).tools.filter(({ name }) => !tools.some((one) => one.name === name));
  expect(missing.map(({ name }) => name)).toEqual(["checkpoint"]);
  expect(JSON.stringify(await under("process"))).toMatch(/\["python","bash"\].*checkpoint/);
  expect(await under("auto")).toEqual(await under("process"));
  expect((await under("auto", { hasProcesses: false })).tools).toEqual(tools);
});

test("docs/tools.md lists every tool with its parameters", async () => {
  const page = await readFile(new URL("../../../docs/tools.md", import.meta.url), "utf8");
  const { tools } = await listed({ hasModel: true });
  for (const { name, inputSchema } of tools) {
    const heading = page.match(new RegExp(`^### ${name}\\((.*)\\)$`, "m"));
    const parameters = heading === null ? ["missing"] : [...(heading[1]?.match(/\w+/g) ?? [])];
    expect(parameters.sort(), name).toEqual(Object.keys(inputSchema.properties ?? {}).sort());
  }
});

test("docs/tools.md has examples that match the output schemas", async () => {
  const page = await readFile(new URL("../../../docs/tools.md", import.meta.url), "utf8");
  const { tools } = await listed({ structured: true });
  for (const { name, outputSchema } of tools) {
    const section = page.slice(page.indexOf(`\n### ${name}(`) + 1).split(/\n###? /)[0] ?? "";
    const [, answer = "null"] = [...section.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text]) => text);
    const schema = z.fromJSONSchema(outputSchema as Parameters<typeof z.fromJSONSchema>[0]);
    expect(schema.safeParse(JSON.parse(answer)).error, name).toBeUndefined();
  }
});
