import { expect, test } from "vitest";
import { editMcpJson } from "./mcp-json.ts";

const entry = { command: "codecell", args: ["mcp"] };

test("adding an entry creates .mcp.json if it does not exist", () => {
  expect(JSON.parse(editMcpJson(undefined, "codecell", entry) ?? "")).toEqual({ mcpServers: { codecell: entry } });
});

test("adding an entry to .mcp.json keeps everything else, with its indentation", () => {
  const before = '{\n\t"other": 1,\n\t"mcpServers": {\n\t\t"mine": {\n\t\t\t"command": "x"\n\t\t}\n\t}\n}\n';
  const after = editMcpJson(before, "codecell", entry) ?? "";
  expect(JSON.parse(after)).toEqual({ other: 1, mcpServers: { mine: { command: "x" }, codecell: entry } });
  expect(after).toContain('\n\t"other"');
  expect(editMcpJson(after, "codecell", undefined)).toBe(before);
});

test("adding an entry to .mcp.json twice changes nothing the second time", () => {
  const once = editMcpJson("{}", "codecell", entry);
  expect(editMcpJson(once, "codecell", entry)).toBe(once);
  expect(editMcpJson("{ }", "codecell", undefined)).toBe("{ }");
  expect(editMcpJson(undefined, "codecell", undefined)).toBeUndefined();
});

test("adding an entry to .mcp.json replaces one that differs", () => {
  const before = editMcpJson(undefined, "codecell", { command: "old", args: [] });
  expect(JSON.parse(editMcpJson(before, "codecell", entry) ?? "")).toEqual({ mcpServers: { codecell: entry } });
});

test.each(["{", "[]", '"x"', '{ "mcpServers": [] }'])("a .mcp.json with the content %s is not changed", (text) => {
  expect(() => editMcpJson(text, "codecell", entry)).toThrow(/was not changed/);
});
