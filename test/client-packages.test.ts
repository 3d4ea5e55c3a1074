import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { instructionsFor } from "../src/service/tools/instructions.ts";
import { toolsOf } from "../src/service/tools/toolset.ts";

const text = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const json = (path: string) => JSON.parse(text(path));

test("every client package has the same version as package.json", () => {
  const { version } = json("package.json");
  const registry = json("server.json");
  const plugins = readdirSync(new URL("../.claude-plugin", import.meta.url)).map((name) =>
    json(`.claude-plugin/${name}`),
  );
  const versions = {
    server: registry.version,
    packages: registry.packages.map((one: { version: string }) => one.version),
    bundle: json("mcpb/manifest.json").version,
    plugins: plugins.flatMap((one) => (one.version === undefined ? [] : [one.version])),
    dspy: /^version = "(.*)"$/m.exec(text("python/codecell_dspy/pyproject.toml"))?.[1],
    python: /^version = "(.*)"$/m.exec(text("python/codecell_client/pyproject.toml"))?.[1],
  };
  expect(versions).toEqual({
    server: version,
    packages: [version],
    bundle: version,
    plugins: [version],
    dspy: version,
    python: version,
  });
});

test("package.json and server.json agree on the names of the package and the server", () => {
  const { name, mcpName } = json("package.json");
  const registry = json("server.json");
  expect(mcpName).toBe(registry.name);
  expect(registry.packages.map((one: { identifier: string }) => one.identifier)).toEqual([name]);
});

/** The fields that we use of the registry's schema of 2025-12-11. Strict, so that a typo fails the test. */
const argument = z.strictObject({ type: z.literal("positional"), value: z.string() });
const variable = z.strictObject({
  name: z.string(),
  description: z.string(),
  isRequired: z.boolean(),
  isSecret: z.boolean(),
});
const registryEntry = z.strictObject({
  $schema: z.literal("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
  name: z
    .string()
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: z.string().regex(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/),
  packages: z.array(
    z.strictObject({
      registryType: z.literal("npm"),
      identifier: z.string(),
      version: z.string().min(1).max(255),
      transport: z.strictObject({ type: z.literal("stdio") }),
      packageArguments: z.array(argument),
      environmentVariables: z.array(variable),
    }),
  ),
});

test("server.json matches the registry's schema", () => {
  expect(() => registryEntry.parse(json("server.json"))).not.toThrow();
});

test("the plugin and the MCPB bundle start `codecell mcp`", () => {
  expect(json(".claude-plugin/plugin.json").mcpServers.codecell.args.at(-1)).toBe("mcp");
  const { entry_point, mcp_config } = json("mcpb/manifest.json").server;
  expect(mcp_config.args[0]).toBe(`\${__dirname}/${entry_point}`);
  expect(mcp_config.args[1]).toBe("mcp");
  expect(entry_point).toBe(json("package.json").bin.codecell);
});

test("nothing tells a user to download codecell by a name that is not published and that anyone could register", () => {
  const pages = ["README.md", "mcpb/manifest.json", "skills/sandbox/SKILL.md", ".claude-plugin/plugin.json"];
  for (const directory of ["docs", "src", "examples", "scripts", "images"]) {
    const names = readdirSync(new URL(`../${directory}`, import.meta.url), { recursive: true, encoding: "utf8" });
    pages.push(...names.filter((name) => /\.(?:md|ts|js|json|py)$/.test(name)).map((name) => `${directory}/${name}`));
  }
  const download = /\bnpx\b[^\n]*codecell|"npx"|npm (?:i|install|exec|x)(?: -\S+)* codecell\b/;
  expect(pages.length).toBeGreaterThan(300);
  expect(pages.filter((page) => download.test(text(page)))).toEqual([]);
});

test("the skill and the server instructions name only tools that exist", () => {
  const names = new Set(toolsOf("all", { hasModel: false }).map(({ name }) => name));
  const pages = [text("skills/sandbox/SKILL.md"), instructionsFor("all")];
  const mentioned = pages.flatMap(
    (page) => page.match(/\b(?:rlm|run|get|cancel|read|list|upload|fork|close)_\w+/g) ?? [],
  );
  const fields = ["run_id"];
  expect([...new Set(mentioned)].filter((name) => !names.has(name) && !fields.includes(name))).toEqual([]);
});
