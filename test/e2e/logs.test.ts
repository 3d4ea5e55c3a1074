import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestClient } from "../support/http-service.ts";
import { CodecellProcess, codecell, launcher } from "./codecell-process.ts";

/** These must be in no log, whether they come from code, a value, the policy's or the host's environment. */
const secrets = { code: "code_hunter2", value: "value_hunter2", env: "env_hunter2", host: "host_hunter2" };
const program = `${secrets.code} = "${secrets.value.slice(0, 5)}" + "${secrets.value.slice(5)}"\nprint(${secrets.code})`;
const debug = ["--log-level", "debug", "--log-format", "json"];

let directory: string;
let started: CodecellProcess[];
beforeEach(async () => {
  started = [];
  directory = await mkdtemp(join(tmpdir(), "codecell-logs-"));
  await chmod(directory, 0o711); // under root, cells run under another uid and must enter it
  await writeFile(join(directory, "sandbox.policy.yaml"), `env: { SECRET: ${secrets.env} }\n`);
});
afterEach(async () => {
  for (const { child, finished } of started) {
    child.kill("SIGKILL");
    await finished;
  }
  await rm(directory, { recursive: true, force: true });
});

const stateArguments = () => ["--state-dir", join(directory, "state")];
const environment = { CODECELL_POLICY: "", CODECELL_TOKEN: "", XDG_RUNTIME_DIR: "", MY_API_KEY: secrets.host };
const cli = (argv: readonly string[], env: Record<string, string> = {}) =>
  codecell([...argv, ...stateArguments()], { cwd: directory, env: { ...environment, ...env } });

/** Checks that every line has a time, a level and a message, and returns the messages. */
function messages(text: string, ...more: string[]): string[] {
  for (const secret of [...Object.values(secrets), ...more]) expect(text).not.toContain(secret);
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  for (const line of lines) {
    expect(line).toMatchObject({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      level: expect.stringMatching(/^(?:debug|info|warn|error)$/),
      message: expect.any(String),
    });
  }
  return lines.map(({ message }) => message);
}

test("codecell run logs JSON lines to stderr, and stdout is only the program's", async () => {
  const { code, stdout, stderr } = await cli(["run", "-c", program, ...debug]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${secrets.value}\n` });
  expect(messages(stderr).join()).toContain("runner");
});

test("codecell run --session and codecell repl log to stderr, and stdout is only the program's", async () => {
  const run = await cli(["run", "--session", "work", "-c", program, "--verbose", "--log-format", "json"]);
  expect(run).toMatchObject({ code: 0, stdout: `${secrets.value}\n` });
  messages(run.stderr);
  const env = { ...environment, CODECELL_LOG: "debug", CODECELL_LOG_FORMAT: "json" };
  const repl = await codecell(["repl"], { cwd: directory, env, stdin: `${program}\n` });
  expect(repl).toMatchObject({ code: 0, stdout: expect.stringContaining(secrets.value) });
  messages(repl.stderr);
});

test("--log-file collects the messages of several commands, and stderr stays empty", async () => {
  const file = join(directory, "codecell.log");
  for (const level of ["debug", "error"]) {
    const { code, stderr } = await cli(["run", "-c", program, "--log-level", level, "--log-file", "codecell.log"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  }
  const said = messages(await readFile(file, "utf8"));
  await cli(["run", "-c", program], { CODECELL_LOG: "debug", CODECELL_LOG_FILE: file });
  expect(messages(await readFile(file, "utf8"))).toHaveLength(2 * said.length);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("--log-file refuses a path that the program can write, and standard output", async () => {
  const inside = ["run", "-c", "1", "--workspace", directory, "--log-file", join(directory, "x.log")];
  const argv = [...inside, "--state-dir", join(tmpdir(), "codecell-elsewhere")];
  const refused = await codecell(argv, { cwd: directory, env: environment });
  expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("the program could rewrite the log") });
  const linked = await cli(["run", "-c", "1", "--log-file", "/dev/stdout"]);
  expect(linked).toMatchObject({ code: 2, stdout: "" });
  const wrong = await cli(["run", "-c", "1"], { CODECELL_LOG: "loud" });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("CODECELL_LOG") });
});

test("codecell mcp over stdio writes only the protocol to stdout", async () => {
  const child = spawn(process.execPath, [launcher, "mcp", ...stateArguments(), ...debug], {
    cwd: directory,
    env: { ...process.env, ...environment },
  });
  let stderr = "";
  child.stderr.on("data", (text) => {
    stderr += text;
  });
  const answers: { id?: number }[] = [];
  createInterface(child.stdout).on("line", (line) => answers.push(JSON.parse(line)));
  const ask = async (id: number, method: string, params: object) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    await expect.poll(() => answers.some((answer) => answer.id === id), { timeout: 30_000 }).toBe(true);
  };
  const clientInfo = { name: "probe", version: "1" };
  await ask(1, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  await ask(2, "tools/call", { name: "run_python", arguments: { code: program } });
  child.stdin.end();
  await once(child, "close");
  expect(JSON.stringify(answers)).toContain(secrets.value);
  expect(messages(stderr)).toContain("a tool was called");
});

test("codecell mcp --http does not log its token", async () => {
  const server = new CodecellProcess(launcher, ["mcp", "--http", ...stateArguments(), "--log-format", "json"], {
    ...{ cwd: directory, env: environment },
  });
  started.push(server);
  await server.printed("MCP on");
  server.child.kill("SIGTERM");
  const { stdout, stderr } = await server.finished;
  expect(stdout).toBe("");
  expect(messages(stderr)).toEqual(["created a token", expect.stringMatching(/^MCP on http/)]);
  expect(stderr).not.toMatch(/token [\w-]{20,}/);
});

test("codecell serve logs requests by route and status, without tokens, code or values", async () => {
  const file = join(directory, "serve.log");
  const argv = ["serve", "--port", "0", "--json", ...stateArguments(), "--runtime-dir", join(directory, "run")];
  const env = { ...environment, CODECELL_LOG: "debug", CODECELL_LOG_FILE: file };
  const server = new CodecellProcess(launcher, argv, { cwd: directory, env });
  started.push(server);
  const [bytes] = await once(server.child.stdout ?? server.child, "data");
  const { url, token } = JSON.parse(String(bytes));
  const client = new TestClient(url, token);
  expect((await client.run(await client.session("work"), program)).text).toContain(secrets.value);
  server.child.kill("SIGTERM");
  const { stdout } = await server.finished;
  expect(stdout).toBe(String(bytes));
  const text = await readFile(file, "utf8");
  expect(messages(text, token)).toEqual(expect.arrayContaining(["a request was answered", "stopped"]));
  expect(text).toContain('"route":"/v1/sessions/{session}/runs"');
});
