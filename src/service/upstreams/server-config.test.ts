import { expect, test } from "vitest";
import { parseServers } from "./server-config.ts";

const parse = (mcpServers: unknown, env: Record<string, string> = {}) =>
  parseServers(JSON.stringify({ mcpServers }), "servers.json", env);
/** `${name}`, without being a template here */
const variable = (name: string) => `$\{${name}}`;

test("servers are read as MCP clients write them, with settings of those clients beside them", () => {
  const docs = { command: "docs", args: ["--x"], env: { A: "1" }, alwaysAllow: ["search"] };
  const web = { type: "http", url: "https://mcp.example/x", headers: { authorization: "Bearer t" } };
  expect(parse({ docs, web, off: { command: "x", disabled: true } })).toEqual([
    { kind: "stdio", name: "docs", command: "docs", args: ["--x"], env: { A: "1" } },
    { kind: "http", name: "web", url: "https://mcp.example/x", headers: { authorization: "Bearer t" } },
  ]);
});

test("variables are replaced from the given environment, with defaults", () => {
  const entry = {
    command: "x",
    args: [variable("HOME")],
    env: { TOKEN: variable("TOKEN"), MODE: variable("MODE:-fast") },
  };
  expect(parse({ a: entry }, { HOME: "/h", TOKEN: "$1t" })).toMatchObject([
    { args: ["/h"], env: { TOKEN: "$1t", MODE: "fast" } },
  ]);
  expect(() => parse({ a: entry }, { HOME: "/h" })).toThrow("a: the environment variable TOKEN is not set");
});

test.each([
  [{ a: { url: "file:///etc/passwd" } }, "a: expected"],
  [{ a: { url: "https://x.example", type: "sse" } }, "a: expected"],
  [{ a: { command: "" } }, "a: expected"],
  [{ "a/b": { command: "x" } }, '"a/b" is not a name'],
  [{ "": { command: "x" } }, '"" is not a name'],
  [Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`s${n}`, { command: "x" }])), "more than 32 servers"],
])("the servers %j are rejected", (servers, message) => {
  expect(() => parse(servers)).toThrow(message);
});
