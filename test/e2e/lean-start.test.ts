import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { launcher, root, stateHome } from "./codecell-process.ts";
import { newTestDirectories, removeTestDirectories } from "./mcp-client.ts";

/** Node writes the names of all scripts and modules that V8 has seen into this directory. */
async function watched<Result>(program: (env: NodeJS.ProcessEnv) => Promise<Result>): Promise<[string[], Result]> {
  const directory = await mkdtemp(join(tmpdir(), "codecell-loaded-"));
  try {
    const result = await program({ ...process.env, XDG_STATE_HOME: stateHome, NODE_V8_COVERAGE: directory });
    const reports = (await readdir(directory)).map((name) => readFileSync(join(directory, name), "utf8"));
    const urls = reports.flatMap((text) => (JSON.parse(text) as { result: { url: string }[] }).result);
    return [urls.flatMap(({ url }) => sourcesOf(url)), result];
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Starts a server for a client that only lists its tools. */
async function probe(env: NodeJS.ProcessEnv): Promise<void> {
  const directories = await newTestDirectories();
  try {
    const args = [launcher, "mcp", "--state-dir", directories.state];
    const child = spawn(process.execPath, args, { cwd: directories.project, env });
    const exited = once(child, "exit");
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
  } finally {
    await removeTestDirectories(directories);
  }
}

/** The sources that are in a bundle, from its map. */
function sourcesOf(url: string): string[] {
  const path = url.startsWith("file:") ? fileURLToPath(url) : url;
  if (!path.includes("/dist/bundled/") || !existsSync(`${path}.map`)) return [url]; // helpers of the compiler have no map
  const { sources } = JSON.parse(readFileSync(`${path}.map`, "utf8")) as { sources: string[] };
  return sources.map((source) => join(path, "..", source));
}

test("an MCP client that only lists tools does not make the server load a dependency, or what runs programs", async () => {
  const [loaded] = await watched(probe);
  expect(loaded.filter((line) => line.endsWith("/src/surfaces/mcp/front/front.ts"))).toHaveLength(1);
  const heavy =
    /\/src\/(?:runners|kernel|policy\/schema|sessions|service\/(?:sandbox|runs))|\/src\/surfaces\/mcp\/server|\/node_modules\//;
  expect(loaded.filter((line) => heavy.test(line))).toEqual([]);
});

/** The sources that Node loads for a program. */
async function loadedBy(...args: string[]): Promise<string[]> {
  const [loaded] = await watched((env) => promisify(execFile)(process.execPath, args, { cwd: root, env }));
  return loaded;
}

test("the overview loads a dozen of our modules and no dependency", async () => {
  const loaded = await loadedBy(launcher, "--help");
  expect(loaded.filter((line) => line.includes("/src/surfaces/cli/")).length).toBeGreaterThan(1);
  expect(loaded.filter((line) => line.includes("/src/")).length).toBeLessThan(20);
  expect(loaded.filter((line) => line.includes("/node_modules/"))).toEqual([]);
});

test("doctor loads the attack suite only with --attack", async () => {
  const loaded = await loadedBy(launcher, "doctor", "--json");
  expect(loaded.some((line) => line.endsWith("/src/surfaces/cli/commands/doctor.ts"))).toBe(true);
  expect(loaded.filter((line) => line.includes("/src/attacks/"))).toEqual([]);
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

test("a call that does not ask for a warm cell loads nothing that belongs to them", async () => {
  const loaded = await loadedBy(launcher, "run", "-c", "1");
  expect(loaded.filter((line) => line.endsWith("/src/sessions/codecell.ts"))).toHaveLength(1);
  expect(loaded.filter((line) => line.includes("/src/surfaces/cli/warm/"))).toEqual([]);
});

test("a call with a warm cell loads no dependency, and nothing that opens a session", async () => {
  const runtime = await mkdtemp(join(tmpdir(), "cc-warm-"));
  await chmod(runtime, 0o711); // cells of root have another user, who must be able to enter
  const run = (env: NodeJS.ProcessEnv, ...args: string[]) =>
    promisify(execFile)(process.execPath, [launcher, ...args], {
      cwd: root,
      env: { ...env, XDG_RUNTIME_DIR: runtime },
    });
  const env = { ...process.env, XDG_STATE_HOME: stateHome, CODECELL_WARM_IDLE: "1m" };
  try {
    await run(env, "run", "--warm", "-c", "1");
    const status = async () => JSON.parse((await run(env, "warm", "status", "--json")).stdout).processes;
    await expect.poll(status, { timeout: 30_000 }).toHaveLength(1);
    const [loaded] = await watched((more) => run({ ...env, ...more }, "run", "--warm", "-c", "1"));
    expect(await status()).toMatchObject([{ runs: 1 }]);
    expect(loaded.filter((line) => line.endsWith("/src/surfaces/cli/warm/call-holder.ts"))).toHaveLength(1);
    const heavy = /\/src\/(?:runners|kernel|sessions|egress|audit|policy\/schema)|\/node_modules\//;
    expect(loaded.filter((line) => heavy.test(line))).toEqual([]);
  } finally {
    await run(env, "warm", "stop");
    await rm(runtime, { recursive: true });
  }
}, 60_000);
