import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codecell, launcher } from "../e2e/codecell-process.ts";
import { descendantsOf, ended } from "../e2e/process-tree.ts";
import { copyWasmRuntime } from "../support/wasm-runtime.ts";
import { claude, newClaudeHome } from "./claude-code.ts";
import { lacking } from "./lacking.ts";

const run = promisify(execFile);
const searchPath = [join(import.meta.dirname, "node_modules/.bin"), process.env.PATH ?? ""].join(delimiter);
const isThere = (program: string) => searchPath.split(delimiter).some((place) => existsSync(join(place, program)));
const absent = ["srt", "bwrap", "socat", "rg"].filter((program) => !isThere(program));
if (absent.length > 0) {
  const text = `the srt wrap needs ${absent.join(", ")}`;
  if (process.env.CI) throw new Error(text);
  process.stderr.write(
    `skipped: ${text}; npm ci --prefix test/clients --ignore-scripts, apt install bubblewrap socat ripgrep\n`,
  );
}

let top: string;
let project: string;
let command: string[];

describe.skipIf(absent.length > 0)("codecell mcp inside srt", () => {
  beforeAll(async () => {
    top = await mkdtemp(join(tmpdir(), "codecell-srt-wrap-"));
    await chmod(top, 0o711);
    project = join(top, "project");
    await mkdir(join(project, "deep"), { recursive: true });
    await writeFile(join(project, "data.csv"), "a,b\n1,2\n");
    await writeFile(join(project, ".env"), "KEY=top");
    await writeFile(join(project, "deep/.env"), "KEY=deep");
    await mkdir(join(top, "bin"));
    await writeFile(join(top, "bin/claude"), `#!/bin/sh\n[ "$2" = add ] && printf '%s\\0' "$@" > "${top}/added"\n`);
    await chmod(join(top, "bin/claude"), 0o755);
    command = await setUp(project);
  });
  afterAll(() => rm(top, { recursive: true, force: true }));

  /** The command that `claude mcp add` received. */
  async function setUp(cwd: string): Promise<string[]> {
    const env = { PATH: `${top}/bin${delimiter}${searchPath}`, HOME: top, XDG_STATE_HOME: join(top, "state") };
    await run(process.execPath, [launcher, "setup", "claude-code", "--wrap", "srt"], { cwd, env });
    const added = (await readFile(join(top, "added"), "utf8")).split("\0").slice(0, -1);
    await copyWasmRuntime(stateOf(added));
    return added.slice(added.indexOf("--") + 1);
  }

  /** The state directory that the wrapped server is given. */
  function stateOf(words: readonly string[]): string {
    return (words.find((word) => word.startsWith("XDG_STATE_HOME=")) ?? "").split("=")[1] ?? "";
  }

  async function connect(more: string[] = [], { start = command, cwd = project } = {}) {
    const [program = "", ...args] = start;
    const transport = new StdioClientTransport({
      ...{ command: program, args: [...args, ...more], cwd, stderr: "inherit" },
      env: { PATH: "/usr/bin:/bin", ANTHROPIC_API_KEY: "the client's key" },
    });
    const client = new Client({ name: "codecell-test", version: "1" });
    await client.connect(transport);
    return { client, pid: transport.pid ?? 0 };
  }

  test("connects, runs Python in the wasm runner, loads a file of the project, and leaves nothing behind", async () => {
    const { client, pid } = await connect(["--structured"]);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain("run_python");
    expect(names).not.toContain("rlm_sub_agent"); // the client's API key does not reach the server
    const ran = await client.callTool({ name: "run_python", arguments: { code: "sum(range(10))" } });
    expect(ran.content).toMatchObject([{ text: expect.stringContaining("45") }]);
    expect(ran.structuredContent).toMatchObject({ status: "ok", value: "45", runner: "wasm" });
    await client.callTool({ name: "rlm_load", arguments: { path: "data.csv", var_name: "rows" } });
    const rows = await client.callTool({ name: "rlm_get", arguments: { name: "rows" } });
    expect(JSON.stringify(rows)).toContain("1");
    const denied = await client.callTool({ name: "rlm_load", arguments: { path: ".env", var_name: "key" } });
    expect(denied.isError).toBe(true);
    const below = descendantsOf(pid);
    expect(below.length).toBeGreaterThan(2);
    await client.close();
    for (const process of [String(pid), ...below]) await ended(Number.parseInt(process, 10));
  });

  test("a tool that cannot start a stronger runner says that it already runs inside srt", async () => {
    const { client } = await connect(["--runner", "process"]);
    const answer = await client.callTool({ name: "run_python", arguments: { code: "1" } });
    expect(answer.isError).toBe(true);
    expect(JSON.stringify(answer.content)).toMatch(
      /codecell runs inside the sandbox runtime \(srt\).*only the wasm runner/,
    );
    await client.close();
  });

  test("two servers of one project do not share a session, and a later server restores the saved one", async () => {
    const cwd = join(top, "persistent");
    await mkdir(cwd);
    await writeFile(join(cwd, "sandbox.policy.yaml"), "session: { persist: true }\n");
    const place = { start: await setUp(cwd), cwd };
    const sessionOf = async (client: Client, code: string) => {
      const { structuredContent } = await client.callTool({ name: "rlm_exec", arguments: { code } });
      return structuredContent as { session_id: string; value: string };
    };
    const first = await connect(["--structured"], place);
    const { session_id: shared } = await sessionOf(first.client, "kept = 6 * 7");
    const second = await connect(["--structured"], place);
    expect((await sessionOf(second.client, "1")).session_id).not.toBe(shared);
    for (const { client, pid } of [first, second]) {
      await client.close();
      await ended(pid);
    }
    const { client } = await connect(["--structured"], place);
    expect(await sessionOf(client, "kept")).toMatchObject({ session_id: shared, value: "42" });
    await client.close();
  });

  test("a compromised server can reach its own state and nothing else", async () => {
    await writeFile(join(top, "secret.txt"), "of the host");
    await using host = await listening();
    const at = command.lastIndexOf("--"); // the server's own command follows
    const settings = command[command.indexOf("--settings") + 1] ?? "";
    const own = stateOf(command);
    const attempts = {
      "read the project": `fs.readFileSync("data.csv", "utf8")`,
      "write its own state": `fs.writeFileSync(${JSON.stringify(join(own, "codecell/mine"))}, "x")`,
      "read the home directory": `fs.readFileSync(${JSON.stringify(join(top, "secret.txt"))})`,
      "read accounts": `fs.readFileSync("/etc/passwd")`,
      "read a key at the top": `fs.readFileSync(".env")`,
      "read a key below": `fs.readFileSync("deep/.env")`,
      "write the project": `fs.writeFileSync("data.csv", "")`,
      "read its settings": `fs.readFileSync(${JSON.stringify(settings)})`,
      "open a Unix socket": `await once(net.createServer().listen("/tmp/own.sock"), "listening")`,
      "reach the host's loopback": `await once(net.connect(${host.port}, "127.0.0.1"), "connect")`,
      "make a namespace": `require("child_process").execFileSync("unshare", ["-r", "true"], { stdio: "ignore" })`,
      "read the client's key": `if (!process.env.ANTHROPIC_API_KEY) throw 0`,
    };
    const body = Object.entries(attempts).map(
      ([name, code]) => `try { ${code}; done.push(${JSON.stringify(name)}) } catch {}`,
    );
    const script = `const fs = require("fs"), net = require("net"), { once } = require("events"), done = [];
      (async () => { ${body.join("\n")}; 
        try { fs.writeFileSync(${JSON.stringify(settings)}, "{}") } catch {} // nobody else sees what it writes there
        console.log(JSON.stringify(done)); process.exit() })()`;
    const [program = "", ...args] = [...command.slice(0, at + 1), process.execPath, "-e", script];
    const { stdout } = await run(program, args, { cwd: project, env: { ANTHROPIC_API_KEY: "the client's key" } });
    expect(JSON.parse(stdout)).toEqual(["read the project", "write its own state"]);
    expect(await readFile(join(project, "data.csv"), "utf8")).toBe("a,b\n1,2\n");
    expect(JSON.parse(await readFile(settings, "utf8"))).toHaveProperty("filesystem");
    expect(existsSync(join(own, "codecell/mine"))).toBe(true);
  });
});

describe.skipIf(absent.length > 0 || (await lacking("claude")))("codecell mcp inside srt, with Claude Code", () => {
  test("connects, and setup replaces a server without srt", async () => {
    await using home = await newClaudeHome();
    const setup = (...args: string[]) =>
      codecell(["setup", "claude-code", ...args], {
        cwd: home.project,
        env: { ...home.env, PATH: `${home.env.PATH}${delimiter}${searchPath}` },
      });
    const known = async () => (await claude(home, "mcp", "get", "codecell")).stdout;
    expect(await setup()).toMatchObject({ code: 0 });
    expect(await setup("--wrap", "srt")).toMatchObject({ code: 0, stdout: expect.stringContaining("mcp remove") });
    expect(await known()).toMatch(/✔ Connected[\s\S]*Args: -i .*--settings/);
    expect(await setup("--wrap", "srt")).toMatchObject({ code: 0, stdout: expect.stringContaining("nothing to do") });
    expect(await setup("--uninstall")).toMatchObject({ code: 0, stdout: expect.stringContaining("removed") });
    expect(await known()).toBe("");
  });
});

async function listening() {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
}
