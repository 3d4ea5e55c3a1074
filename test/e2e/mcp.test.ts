import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, readdir, rm, stat, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import type { Client, ProtocolEra } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { isThorough } from "../support/thorough.ts";
import { availableRunners, living } from "./codecell-process.ts";
import {
  type Answer,
  bearerTransport,
  httpAddress,
  McpPair,
  newClient,
  newTestDirectories,
  type Over,
  removeTestDirectories,
  serverArguments,
  startHttp,
  stopped,
  type TestDirectories,
} from "./mcp-client.ts";
import { descendantsOf, ended } from "./process-tree.ts";

const runners = await availableRunners();
const hasProcess = runners.includes("process");
const ways: [Over, ProtocolEra][] = [
  ["stdio", "modern"],
  ["stdio", "legacy"],
  ["http", "modern"],
  ["http", "legacy"],
];

const clientInfo = { name: "codecell-test", version: "1" };
const initialize = {
  ...{ id: 1, method: "initialize" },
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
};

/** an 8×8 picture without any library */
const picture = `
import struct, zlib
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
raw = b"".join(b"\\0" + b"\\xff\\0\\0" * 8 for _ in range(8))
png = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")
class Picture:
    def _repr_png_(self): return png
open("plots/red.png", "wb").write(png) if __import__("os").makedirs("plots", exist_ok=True) is None else None
Picture()`;

describe.skipIf(!hasProcess).each(ways)("the MCP server over %s with a %s client", (over, era) => {
  let pair: McpPair;
  let followed: ReturnType<typeof followLongRun> | undefined;
  // takes seconds: one of the ways of each transport and of each protocol
  const followsLongRun = isThorough || (over === "stdio") === (era === "modern");
  beforeAll(async () => {
    pair = await McpPair.open(over, era, ["--structured"]);
    if (followsLongRun) followed = followLongRun(pair); // meanwhile other tests run
    followed?.catch(() => {}); // its test reports the failure
  });
  afterAll(() => pair[Symbol.asyncDispose]());

  async function session(code: string): Promise<string> {
    return String((await pair.call("run_python", { code, session_id: "new" })).facts.session_id);
  }

  test("lists tools with schemas, hints and short descriptions", async () => {
    const { tools } = await pair.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["run_python", "rlm_exec", "get_run"]));
    expect(tools.map(({ name }) => name)).not.toContain("rlm_sub_agent");
    for (const tool of tools) {
      expect(tool.description?.length).toBeLessThan(2_000);
      expect(tool.outputSchema).toBeDefined();
      expect(tool.annotations?.readOnlyHint).toBeTypeOf("boolean");
    }
    expect(pair.client.getInstructions()?.length).toBeLessThan(2_000);
    expect(pair.client.getProtocolEra()).toBe(era);
  });

  test("runs code, keeps the variables, and returns text and structured content", async () => {
    const first = await pair.call("run_python", { code: "x = 41\nprint('hello')\nx + 1", session_id: "new" });
    expect(first.facts).toMatchObject({ status: "ok", value: "42", stdout: "hello\n", state: "kept", error: null });
    expect(first.text).toContain("hello");
    expect(first.text).toContain(String(first.facts.session_id));
    const next = await pair.call("run_python", { code: "x", session_id: first.facts.session_id });
    expect(next.facts).toMatchObject({ value: "41", session_id: first.facts.session_id });
  });

  test("returns an error with a hint for an unknown session", async () => {
    const { isError, text } = await pair.call("run_python", { code: "1", session_id: "nobody" });
    expect(isError).toBe(true);
    expect(text).toMatch(/^session_unknown: .*nobody/);
    expect(text).toContain("without session_id");
  });

  test("refuses arguments that are not in the schema", async () => {
    const { isError, text } = await pair.call("run_python", { code: "1", sesion_id: "x" });
    expect(isError).toBe(true);
    expect(text).toContain("sesion_id");
  });

  test("returns pictures as images, and files as links and resources", async () => {
    const run = await pair.call("run_python", { code: picture });
    expect(run.types).toEqual(["text", "image", "resource_link"]);
    const [file] = run.facts.artifacts as { uri: string; name: string; mime_type: string; sha256: string }[];
    expect(file).toMatchObject({ name: "plots/red.png", mime_type: "image/png" });
    const read = await pair.call("read_artifact", { session_id: run.facts.session_id, name: "plots/red.png" });
    expect(read.types).toEqual(["text", "image"]);
    const resource = await pair.client.readResource({ uri: file?.uri ?? "" });
    expect(resource.contents[0]).toMatchObject({ mimeType: "image/png", blob: read.content[1]?.data });
    const { resources } = await pair.client.listResources();
    expect(resources.map(({ uri }) => uri)).toContain(file?.uri);
    await expect(pair.client.readResource({ uri: `${file?.uri}x` })).rejects.toMatchObject({ code: -32602 });
  });

  test("notifies the client when a run made files", async () => {
    const before = pair.resourceChanges;
    await pair.call("run_python", { code: "open('made.txt', 'w').write('x')" });
    await until(async () => pair.resourceChanges > before);
  });

  test.runIf(followsLongRun)(
    "returns before a long run ends, reports progress, and cancels it on request",
    async () => {
      if (followed === undefined) throw new Error("no run is followed");
      const { started, later, progress, cancelled, again } = await followed;
      expect(started.facts).toMatchObject({ status: "running", state: null });
      expect(later.facts.status).toBe("running");
      expect(progress[0]?.message).toMatch(/^tick \d+$/);
      expect(cancelled.facts).toMatchObject({ status: "cancelled", state: "kept" });
      expect(cancelled.facts.stdout).toContain("tick 3");
      expect(again.facts.status).toBe("cancelled");
    },
  );

  test("stops the run when the client cancels the call", async () => {
    const session_id = await session("x = 7");
    const controller = new AbortController();
    const code = "import time\ntry: open('begun', 'w').close(); time.sleep(25)\nfinally: open('stopped', 'w').close()";
    const call = pair.call("run_python", { session_id, code }, { signal: controller.signal });
    const names = async () =>
      ((await pair.call("list_artifacts", { session_id })).facts.files as { name: string }[]).map(({ name }) => name);
    await until(async () => (await names()).includes("begun"));
    controller.abort("enough");
    await expect(call).rejects.toThrow();
    await until(async () => (await names()).includes("stopped"));
    const after = await pair.call("run_python", { session_id, code: "x" });
    expect(after.facts.value).toBe("7");
  });

  // Below the transport and the protocol, tools are the same code: one of the four ways asks what they do.
  if (!isThorough && !(over === "stdio" && era === "modern")) return;

  test("returns a failing program as a normal result", async () => {
    const { facts, isError } = await pair.call("run_python", { code: "1/0" });
    expect(isError).toBe(false);
    expect(facts).toMatchObject({ status: "error", state: "kept", error: { type: "ZeroDivisionError" } });
  });

  test("accepts uploads and returns text in parts that split no character", async () => {
    const { facts } = await pair.call("upload_file", { path: "data/in.txt", content: "grüße\n", session_id: "new" });
    const session_id = facts.session_id;
    const run = await pair.call("run_python", { session_id, code: "open('data/in.txt').read().upper()" });
    expect(run.facts.value).toBe("'GRÜSSE\\n'");
    const part = await pair.call("read_artifact", { session_id, name: "data/in.txt", start: 0, end: 3 });
    expect(part.facts).toMatchObject({ text: "gr", next: 2, size: 8 });
    const listed = await pair.call("list_artifacts", { session_id });
    expect(listed.facts.files).toMatchObject([{ name: "data/in.txt", size: 8 }]);
    const refused = await pair.call("read_artifact", { session_id, name: "../../etc/passwd" });
    expect(refused.isError).toBe(true);
    const unclear = await pair.call("upload_file", { session_id, path: "data/in.txt", content: "x", delete: true });
    expect(unclear.isError).toBe(true);
    const deleted = await pair.call("upload_file", { session_id, path: "data/in.txt", delete: true });
    expect(deleted.facts).toMatchObject({ session_id, name: "data/in.txt", deleted: true });
    expect((await pair.call("list_artifacts", { session_id })).facts.files).toEqual([]);
  });

  test("queues calls to one session", async () => {
    const session_id = await session("done = []");
    const code = "import time; time.sleep(0.1); done.append(1); len(done)";
    const calls = await Promise.all([1, 2, 3].map(() => pair.call("run_python", { session_id, code })));
    expect(calls.map(({ facts }) => facts.value).sort()).toEqual(["1", "2", "3"]);
  });

  test("shows displayed values in order with the output, and the last value once", async () => {
    const code = [
      "class Table:\n    rows = [3, 4]\n    def __repr__(self): return '   a\\n0  3'\n    def _repr_html_(self): return '<table>'",
      "print('before')\ndisplay(Table())\nprint('after')\nTable()",
    ].join("\n");
    const run = await pair.call("run_python", { code });
    expect(run.facts).toMatchObject({ stdout: "before\n   a\n0  3\nafter\n", value: "   a\n0  3" });
    expect(run.text).toContain("before\n   a\n0  3\nafter");
    expect(run.text.split("0  3")).toHaveLength(3);
  });

  test("keeps truncated output for paging and searching", async () => {
    const run = await pair.call("run_python", { code: "for i in range(4000): print('line', i)" });
    expect(run.facts.truncated).toBe(true);
    expect(String(run.facts.stdout).length).toBeLessThan(20_000);
    const handle = run.facts.output_handle;
    expect((await pair.call("read_output", { handle, search: "LINE 3998" })).facts.text).toBe("3999: line 3998");
    expect((await pair.call("read_output", { handle, offset: 5, limit: 1 })).facts.text).toBe("0");
  });

  test("keeps the beginning and the end of an output over the policy's limit, and says what is missing", async () => {
    const run = await pair.call("run_python", {
      code: "for i in range(20000): print('line', i, 'x' * (107 - len(str(i))))",
    });
    expect(run.facts.truncated).toBe(true);
    expect(run.facts.stdout).toMatch(/^line 0 x+\nline 1 x+\n/);
    expect(run.facts.stdout).toMatch(
      /\nline 19999 x+\n… stdout had 2,280,000 bytes; [\d,]+ in the middle were not kept …$/,
    );
    const handle = run.facts.output_handle;
    const found = await pair.call("read_output", { handle, search: "line 19998" });
    expect(found.facts).toMatchObject({ total: 1, partial: true });
    expect(found.facts.text).toMatch(/^\d+: line 19998 x+$/);
    const marker = await pair.call("read_output", { handle, search: "bytes left out" });
    const leftOut = Number(marker.facts.left_out_bytes);
    expect(leftOut).toBeGreaterThan(1_190_000);
    expect(marker.facts.text).toContain(`[... ${leftOut.toLocaleString("en-US")} bytes left out ...]`);
    expect(marker.text).toContain("in the middle were not kept, and are not searched]");
  });

  test("restores checkpoints and forks sessions", async () => {
    const session_id = await session("x = 1");
    await pair.call("checkpoint", { action: "save", session_id, name: "one" });
    await pair.call("run_python", { session_id, code: "x = 2" });
    const { facts: fork } = await pair.call("checkpoint", { action: "fork", session_id });
    await pair.call("checkpoint", { action: "restore", session_id, name: "one" });
    expect((await pair.call("run_python", { session_id, code: "x" })).facts.value).toBe("1");
    expect((await pair.call("run_python", { session_id: fork.session_id, code: "x" })).facts.value).toBe("2");
    const unknown = await pair.call("checkpoint", { action: "restore", session_id, name: "two" });
    expect(unknown.text).toMatch(/^checkpoint_unknown/);
    expect((await pair.call("checkpoint", { action: "save", session_id })).text).toMatch(/^usage: .*name/);
  });

  test("closes a session on request", async () => {
    const session_id = await session("x = 1");
    expect((await pair.call("close_session", { session_id })).facts).toMatchObject({ closed: true, kept: false });
    expect((await pair.call("run_python", { session_id, code: "x" })).text).toMatch(/^session_unknown/);
  });

  test("shares one session among all tools, unless a call names another", async () => {
    await writeFile(join(pair.directories.project, "shared.csv"), "city\nOslo\nLima\n");
    const loaded = await pair.call("rlm_load", { path: "shared.csv", var_name: "cities", form: "csv" });
    expect(loaded.facts).toMatchObject({ type: "list", length: 2, keys: ["city"] });
    expect((await pair.call("run_python", { code: "len(cities)" })).facts.value).toBe("2");
    await pair.call("run_python", { code: "open('cities.txt', 'w').write('Oslo')" });
    expect((await pair.call("read_artifact", { name: "cities.txt" })).facts.text).toBe("Oslo");
    const other = await pair.call("run_python", { code: "cities", session_id: "new" });
    expect(other.facts).toMatchObject({ status: "error", error: { type: "NameError" } });
    expect(String(other.facts.notes)).toMatch(/session is new .*you also have s-/);
    expect(other.facts.session_id).not.toBe(loaded.facts.session_id);
  });

  test("shares one session among the rlm tools and loads only allowed files", async () => {
    const { project } = pair.directories;
    await writeFile(join(project, "rows.csv"), "city,celsius\nOslo,9\nNairobi,25\n");
    await mkdir(join(project, ".ssh"), { recursive: true });
    await writeFile(join(project, ".ssh", "id_ed25519"), "secret-of-the-host");
    await writeFile(join(project, ".env"), "KEY=secret-of-the-host");
    expect((await pair.call("rlm_load", { path: "rows.csv", var_name: "rows", form: "csv" })).facts.size).toBe(31);
    expect((await pair.call("rlm_exec", { code: "len(rows)" })).facts.value).toBe("2");
    expect((await pair.call("rlm_get", { name: "rows", query: "rows[1]['city']" })).facts.value).toBe('"Nairobi"');
    expect((await pair.call("rlm_get", { name: "print" })).facts).toMatchObject({ form: "repr" });
    await pair.call("rlm_exec", { code: "calls = []\nhuge = 'x' * 5_000_000" });
    const huge = await pair.call("rlm_get", { name: "huge" });
    expect(huge.facts).toMatchObject({ truncated: true, characters: 5_000_002 });
    expect(huge.text.length).toBeLessThan(20_000);
    expect((await pair.call("rlm_get", { name: "huge", query: "calls.append(1) or object()" })).isError).toBe(false);
    expect((await pair.call("rlm_get", { name: "calls" })).facts.value).toBe("[1]"); // evaluated once
    const { variables } = (await pair.call("rlm_vars")).facts as { variables: { name: string; type: string }[] };
    expect(variables).toContainEqual(expect.objectContaining({ name: "rows", type: "list" }));
    for (const path of [".ssh/id_ed25519", ".env", "/etc/passwd", "~/.aws/credentials"]) {
      const denied = await pair.call("rlm_load", { path, var_name: "stolen" });
      expect(denied.isError, path).toBe(true);
      expect(denied.text).not.toContain("secret-of-the-host");
    }
    await pair.call("rlm_reset");
    expect((await pair.call("rlm_get", { name: "rows" })).text).toMatch(/^variable_missing/);
  });
});

/** Starts a long run in a session of its own, waits until the server must have reported progress, and cancels the run. */
async function followLongRun(pair: McpPair) {
  const code = "import time\nfor i in range(1000): print('tick', i, flush=True); time.sleep(0.05)";
  const started = await pair.call("run_python", { code, wait: 0.2, session_id: "new" });
  const progress: { message?: string | undefined }[] = [];
  const run_id = started.facts.run_id;
  const later = await pair.call("get_run", { run_id, wait: 8 }, { onprogress: (one) => void progress.push(one) });
  const cancelled = await pair.call("get_run", { run_id, cancel: true });
  const again = await pair.call("get_run", { run_id, wait: 0 });
  return { started, later, progress, cancelled, again };
}

describe("the MCP server at its start", () => {
  test("answers a probing client quickly and leaves nothing behind", async () => {
    const directories = await newTestDirectories();
    const bareMs = await timed(() => exchange([process.execPath, "-e", "0"], []));
    const asked = [initialize, { id: 2, method: "tools/list" }];
    let replies: unknown[] = [];
    const probeMs = await timed(async () => {
      replies = await exchange([process.execPath, ...serverArguments(directories)], asked, directories.project);
    });
    expect(replies).toHaveLength(2);
    await expect(stat(directories.state)).rejects.toMatchObject({ code: "ENOENT" });
    // Relative to Node's own start, because the machine may be busy.
    expect(probeMs).toBeLessThan(Math.max(400, bareMs * 9));
    await rm(directories.top, { recursive: true });
  });

  test("connects without any available runner, and the first call says what is missing", async () => {
    await using pair = await McpPair.open("stdio", "modern", ["--runner", "microvm"]);
    expect((await pair.client.listTools()).tools.length).toBeGreaterThan(10);
    const { isError, text } = await pair.call("run_python", { code: "1" });
    expect(isError).toBe(true);
    expect(text).toMatch(/^runner_unavailable|^policy_refused/);
    expect(text).toContain("codecell doctor");
  });

  test.skipIf(!runners.includes("wasm"))("works with only the wasm runner", async () => {
    await using pair = await McpPair.open("stdio", "modern", ["--runner", "wasm", "--structured"]);
    const { tools } = await pair.client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain("checkpoint");
    expect(JSON.stringify(tools)).not.toContain("bash");
    expect((await pair.call("run_python", { code: "6 * 7" })).facts).toMatchObject({ value: "42", runner: "wasm" });
    expect((await pair.call("rlm_exec", { code: "1 / 0" })).facts).toMatchObject({ status: "error" });
  });

  test("connects with an invalid policy, and each call says why", async () => {
    const directories = await newTestDirectories();
    const policy = join(directories.top, "bad.yaml");
    await writeFile(policy, "proc: { memry: 1GiB }\n");
    await using pair = await McpPair.open("stdio", "modern", ["--policy", policy]);
    const { isError, text } = await pair.call("rlm_vars");
    expect(isError).toBe(true);
    expect(text).toMatch(/^policy_invalid[\s\S]*memry/);
    await rm(directories.top, { recursive: true });
  });

  test.each([
    ["interpreter", "run_python", "rlm_exec"],
    ["rlm", "rlm_exec", "run_python"],
  ])("offers only the %s tools on request", async (set, there, absent) => {
    await using pair = await McpPair.open("stdio", "modern", ["--tools", set]);
    const names = (await pair.client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain(there);
    expect(names).not.toContain(absent);
  });
});

describe.skipIf(!hasProcess)("the MCP server over stdio", () => {
  const busy = { code: "import time\nwhile True: time.sleep(0.05)", wait: 0.2, session_id: "new" };

  test.each(["a closed standard input", "SIGTERM", "SIGINT", "SIGHUP"])("ends every process after %s", async (how) => {
    const pair = await McpPair.open("stdio", "legacy");
    await pair.call("run_python", busy);
    await pair.call("rlm_exec", { code: "1" });
    const processes = [...descendantsOf(pair.pid)];
    expect(processes.length).toBeGreaterThan(0);
    if (how.startsWith("SIG")) process.kill(pair.pid, how);
    else void pair.client.close();
    await ended(pair.pid);
    // The template is killed with its bubblewrap by the OS, which takes a moment on a busy machine.
    await expect.poll(() => living(processes)).toEqual([]);
    expect(await readdir(join(pair.directories.state, "workspaces"))).toEqual([]);
    await pair[Symbol.asyncDispose]();
  });

  test("exits when its client's process dies, although the pipe stays open", async () => {
    const directories = await newTestDirectories();
    const pipe = join(directories.top, "pipe");
    execFileSync("mkfifo", [pipe]);
    const input = await open(pipe, "r+"); // a pipe that never closes: this test and the server hold both of its ends
    const args = JSON.stringify(serverArguments(directories));
    const script = `const { spawn } = require("node:child_process");
      const child = spawn(process.execPath, ${args}, { stdio: "inherit" });
      process.stderr.write("pid " + child.pid + "\\n");`;
    const parent = spawn(process.execPath, ["-e", script], {
      cwd: directories.project,
      stdio: [input.fd, "pipe", "pipe"],
    });
    const pid = await new Promise<number>((resolve) => {
      parent.stderr?.on("data", (text) => resolve(Number(/pid (\d+)/.exec(String(text))?.[1])));
    });
    await input.write(`${JSON.stringify({ jsonrpc: "2.0", ...initialize })}\n`);
    await new Promise((resolve) => parent.stdout?.once("data", resolve));
    parent.kill("SIGKILL");
    await ended(pid);
    await input.close();
    await rm(directories.top, { recursive: true });
  });
});

describe.skipIf(!hasProcess)("an MCP server with the state of an earlier one", () => {
  const code = "import sys\nx = 5\nprint(sys.version.split()[0])";
  let directories: TestDirectories;
  let earlier: { instructions: string; run: Answer };
  let pair: McpPair;
  beforeAll(async () => {
    directories = await newTestDirectories();
    const policy = join(directories.top, "policy.yaml");
    await writeFile(policy, "proc: { timeout: 77s }\nsession: { persist: true }\n");
    const args = ["--policy", policy, "--state-dir", directories.state, "--structured"];
    {
      await using first = await McpPair.open("stdio", "modern", args);
      earlier = {
        instructions: first.client.getInstructions() ?? "",
        run: await first.call("run_python", { code }),
      };
      await first.client.close();
      await ended(first.pid);
    }
    pair = await McpPair.open("stdio", "modern", args);
  });
  afterAll(async () => {
    await pair[Symbol.asyncDispose]();
    await removeTestDirectories(directories);
  });

  test("tells a model which Python there is, as the earlier server found it", async () => {
    expect(earlier.instructions).toContain("77s per run");
    expect(earlier.instructions).not.toMatch(/Python \d/);
    const version = String(earlier.run.facts.stdout).trim();
    expect(pair.client.getInstructions()).toContain(`Python ${version} with `);
    const { tools } = await pair.client.listTools();
    expect(tools.find(({ name }) => name === "run_python")?.description).toContain(`Python ${version} with `);
  });

  test("restores the persistent sessions that the earlier server saved", async () => {
    const back = await pair.call("run_python", { code: "x", session_id: earlier.run.facts.session_id });
    expect(back.facts.value).toBe("5");
  });
});

describe("the MCP server over HTTP", () => {
  let directories: TestDirectories;
  let policy: string;
  let server: ChildProcess;
  let url: URL;
  let token: string;
  let tokenFile: string;
  beforeAll(async () => {
    directories = await newTestDirectories();
    policy = join(directories.project, "sandbox.policy.yaml");
    await writeFile(policy, "net: { enabled: true }\n");
    server = startHttp(directories, ["--structured"]);
    ({ url, token, tokenFile } = await httpAddress(server));
  });
  afterAll(async () => {
    await stopped(server);
    await removeTestDirectories(directories);
  });

  async function connected(era: ProtocolEra): Promise<Client> {
    const client = newClient(era);
    await client.connect(bearerTransport(url, token));
    return client;
  }

  test("refuses requests without the token, from another origin or with another host name", async () => {
    expect((await stat(tokenFile)).mode & 0o777).toBe(0o600);
    const ask = async (headers: Record<string, string>) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
      return (await fetch(url, { method: "POST", body, headers: { "content-type": "application/json", ...headers } }))
        .status;
    };
    const authorization = `Bearer ${token}`;
    expect(await ask({})).toBe(401);
    expect(await ask({ authorization: `${authorization}x` })).toBe(401);
    expect(await ask({ authorization, origin: "https://attacker.example" })).toBe(403);
    expect(await ask({ authorization })).toBe(400);
    // `fetch` sets its own Host header
    const renamed = request(url, { headers: { authorization, host: "attacker.example" } }).end();
    const [response] = (await once(renamed, "response")) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(403);
    const large = await fetch(url, { method: "POST", body: "x".repeat(17 << 20), headers: { authorization } }).then(
      ({ status }) => status,
      () => 413, // the server may close the connection before the body is sent
    );
    expect(large).toBe(413);
  });

  test.skipIf(!hasProcess)("reloads its policy on SIGHUP and keeps running", async () => {
    const client = await connected("modern");
    onTestFinished(() => client.close());
    const code = 'import urllib.request\nurllib.request.urlopen("http://evil.example/")';
    const reason = async () => JSON.stringify(await client.callTool({ name: "rlm_exec", arguments: { code } }));
    expect(await reason()).toContain("evil.example is not in net.allowlist");
    await writeFile(policy, "net: { enabled: true, deny: [evil.example] }\n");
    let said = "";
    server.stderr?.on("data", (bytes) => {
      said += bytes;
    });
    server.kill("SIGHUP");
    await expect.poll(() => said).toContain("net.deny changed from none to evil.example");
    expect(await reason()).toContain("evil.example is in net.deny");
  });

  const clients = isThorough ? 20 : 8;
  test.skipIf(!hasProcess)(
    `serves ${clients} clients at once, and each can use its session from another connection`,
    async () => {
      const numbers = Array.from({ length: clients }, (_, number) => number);
      const sessions = await Promise.all(
        numbers.map(async (number) => {
          const client = await connected(number % 2 ? "modern" : "legacy");
          const args = { code: `x = ${number}`, session_id: "new" };
          const run = await client.callTool({ name: "run_python", arguments: args });
          await client.close();
          return (run.structuredContent as { session_id: string }).session_id;
        }),
      );
      const client = await connected("modern");
      onTestFinished(() => client.close());
      const values = await Promise.all(
        sessions.map(async (session_id) => {
          const run = await client.callTool({ name: "run_python", arguments: { session_id, code: "x" } });
          return (run.structuredContent as { value: string }).value;
        }),
      );
      expect(values).toEqual(numbers.map(String));
    },
  );

  test("removes the file of its token when it stops", async () => {
    await stat(tokenFile);
    await stopped(server);
    await expect(stat(tokenFile)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

test("an MCP server over HTTP reads its token from a file that only its owner can read", async () => {
  const directories = await newTestDirectories();
  onTestFinished(() => removeTestDirectories(directories));
  const file = join(directories.top, "token");
  await writeFile(file, "a-token-of-some-length\n", { mode: 0o644 });
  await expect(httpAddress(startHttp(directories, ["--token-file", file]))).rejects.toThrow(/can be read by others/);
  await rm(file);
  await writeFile(file, "a-token-of-some-length\n", { mode: 0o600 });
  const server = startHttp(directories, ["--token-file", file]);
  onTestFinished(() => stopped(server));
  const { url } = await httpAddress(server);
  const client = newClient("modern");
  await client.connect(bearerTransport(url, "a-token-of-some-length"));
  expect((await client.listTools()).tools.length).toBeGreaterThan(10);
  await client.close();
});

async function until(isSo: () => Promise<boolean>, limitMs = 30_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error("it did not happen in time");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return Math.min(...times);
}

/** Sends requests one after the other, closes the pipe after the last answer, and waits for the exit. */
function exchange([command = "", ...args]: string[], requests: object[], cwd?: string): Promise<unknown[]> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], ...(cwd === undefined ? {} : { cwd }) });
    const replies: unknown[] = [];
    let text = "";
    const next = () => {
      const request = requests[replies.length];
      if (request) child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...request })}\n`);
      else child.stdin.end();
    };
    child.stdout.on("data", (bytes) => {
      text += bytes;
      for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
        replies.push(JSON.parse(text.slice(0, end)));
        text = text.slice(end + 1);
        next();
      }
    });
    child.on("exit", () => resolve(replies));
    next();
  });
}
