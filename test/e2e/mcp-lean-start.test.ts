import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { launcher } from "./codecell-process.ts";
import { newTestDirectories, removeTestDirectories } from "./mcp-client.ts";

const hooks = `
import { writeSync } from "node:fs";
export async function load(url, context, next) {
  writeSync(2, "loaded " + url + "\\n");
  return next(url, context);
}`;
const watching = `
import { register } from "node:module";
register("data:text/javascript," + ${JSON.stringify(encodeURIComponent(hooks))});`;

/** The modules that a server loads for a client that only lists its tools. */
async function loadedByProbe(): Promise<string[]> {
  const directories = await newTestDirectories();
  try {
    const preload = `data:text/javascript,${encodeURIComponent(watching)}`;
    const args = ["--import", preload, launcher, "mcp", "--state-dir", directories.state];
    const child = spawn(process.execPath, args, { cwd: directories.project });
    const exited = once(child, "exit");
    const loaded: string[] = [];
    createInterface(child.stderr).on("line", (line) => loaded.push(line));
    const answers = createInterface(child.stdout)[Symbol.asyncIterator]();
    const ask = async (message: object) => {
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
      return JSON.parse((await answers.next()).value).result;
    };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "probe", version: "1" } };
    await ask({ id: 1, method: "initialize", params });
    expect((await ask({ id: 2, method: "tools/list" })).tools.length).toBeGreaterThan(10);
    child.stdin.end();
    await exited;
    return loaded;
  } finally {
    await removeTestDirectories(directories);
  }
}

test("an MCP client that only lists tools does not make the server load the code that runs programs", async () => {
  const loaded = await loadedByProbe();
  expect(loaded.filter((line) => line.includes("/dist/service/tools/")).length).toBeGreaterThan(10);
  const heavy =
    /\/dist\/(?:runners|kernel|policy\/schema|sessions\/(?:codecell|session)|service\/(?:sandbox|runs\/run-registry))|\/(?:yaml|pyodide|hono)\//;
  expect(loaded.filter((line) => heavy.test(line))).toEqual([]);
});
