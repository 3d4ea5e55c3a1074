import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { instructionsFor } from "../src/surfaces/mcp/instructions.ts";
import { toolsOf } from "../src/surfaces/mcp/toolset.ts";

const text = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const json = (path: string) => JSON.parse(text(path));

test("every package for a client has the version of this package", () => {
  const { version } = json("package.json");
  expect(json(".claude-plugin/plugin.json").version).toBe(version);
  expect(json("mcpb/manifest.json").version).toBe(version);
  const registry = json("server.json");
  expect([registry.version, registry.packages[0].version]).toEqual([version, version]);
});

test("the registry takes the description", () => {
  expect(json("server.json").description.length).toBeLessThanOrEqual(100);
});

test("the plugin and the bundle start the server", () => {
  expect(json(".claude-plugin/plugin.json").mcpServers.codecell.args.at(-1)).toBe("mcp");
  const { entry_point, mcp_config } = json("mcpb/manifest.json").server;
  expect(mcp_config.args[0]).toBe(`\${__dirname}/${entry_point}`);
  expect(text(entry_point)).toContain("mcp-entrance.js");
});

test("the skill and the instructions name only tools that there are", () => {
  const names = new Set(toolsOf("all", { hasModel: false }).map(({ name }) => name));
  const pages = [text("skills/sandbox/SKILL.md"), instructionsFor("all")];
  const mentioned = pages.flatMap(
    (page) => page.match(/\b(?:rlm|run|get|cancel|read|list|upload|fork|close)_\w+/g) ?? [],
  );
  const fields = ["run_id"];
  expect([...new Set(mentioned)].filter((name) => !names.has(name) && !fields.includes(name))).toEqual([]);
});
