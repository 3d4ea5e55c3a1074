import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { launcher, root, stateHome } from "./codecell-process.ts";
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

const preload = `data:text/javascript,${encodeURIComponent(watching)}`;

/** The modules that a server loads for a client that only lists its tools. */
async function loadedByProbe(): Promise<string[]> {
  const directories = await newTestDirectories();
  try {
    const args = ["--import", preload, launcher, "mcp", "--state-dir", directories.state];
    const child = spawn(process.execPath, args, { cwd: directories.project });
    const exited = once(child, "exit");
    const loaded: string[] = [];
    createInterface(child.stderr).on("line", (line) => loaded.push(...sourcesOf(line)));
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

/** The sources that are in a loaded bundle, from its map. */
function sourcesOf(line: string): string[] {
  const [, url] = /^loaded (file:.*\/dist\/bundled\/.*)$/.exec(line) ?? [];
  const map = url === undefined ? "" : `${fileURLToPath(url)}.map`;
  if (url === undefined || !existsSync(map)) return [line]; // helpers of the compiler have no map
  const { sources } = JSON.parse(readFileSync(map, "utf8")) as { sources: string[] };
  return sources.map((source) => new URL(source, url).pathname);
}

test("an MCP client that only lists tools does not make the server load the code that runs programs", async () => {
  const loaded = await loadedByProbe();
  expect(loaded.filter((line) => line.includes("/src/service/tools/")).length).toBeGreaterThan(10);
  const heavy =
    /\/src\/(?:runners|kernel|policy\/schema|sessions\/(?:codecell|session)|service\/(?:sandbox|runs\/run-registry))|\/(?:yaml|pyodide|hono)\//;
  expect(loaded.filter((line) => heavy.test(line))).toEqual([]);
});

/** The sources that Node loads for a program. */
async function loadedBy(...args: string[]): Promise<string[]> {
  const env = { ...process.env, XDG_STATE_HOME: stateHome };
  const { stderr } = await promisify(execFile)(process.execPath, ["--import", preload, ...args], { cwd: root, env });
  return stderr.split("\n").flatMap(sourcesOf);
}

test("the overview loads a dozen of our modules and no dependency", async () => {
  const loaded = await loadedBy(launcher, "--help");
  expect(loaded.filter((line) => line.includes("/src/surfaces/cli/")).length).toBeGreaterThan(1);
  expect(loaded.filter((line) => line.includes("/src/")).length).toBeLessThan(20);
  expect(loaded.filter((line) => line.includes("/node_modules/"))).toEqual([]);
});

test("the library loads no runner, no YAML parser and no MCP SDK", async () => {
  const loaded = await loadedBy("--input-type=module", "-e", 'import "codecell"');
  expect(loaded.filter((line) => line.endsWith("/src/sessions/codecell.ts"))).toHaveLength(1);
  const heavy =
    /\/src\/runners\/(?:container|process|srt|wasm)\/|\/src\/surfaces\/(?:http|mcp)\/|\/node_modules\/(?!zod\/)/;
  expect(loaded.filter((line) => heavy.test(line))).toEqual([]);
});

test("the help of run loads no YAML parser, no MCP SDK and no HTTP server", async () => {
  const loaded = await loadedBy(launcher, "run", "--help");
  expect(loaded.filter((line) => line.endsWith("/src/surfaces/cli/commands/run.ts"))).toHaveLength(1);
  const heavy = /\/src\/surfaces\/(?:http|mcp)\/|\/src\/service\/tools\/|\/node_modules\/(?!zod\/)/;
  expect(loaded.filter((line) => heavy.test(line))).toEqual([]);
});
