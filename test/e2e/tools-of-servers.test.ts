import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { availableRunners, codecell } from "./codecell-process.ts";
import { CommandsHere } from "./commands-here.ts";
import { httpAddress, McpPair, newTestDirectories, removeTestDirectories, startHttp, stopped } from "./mcp-client.ts";

const toolServer = fileURLToPath(new URL("../fakes/tool-server.mjs", import.meta.url));
const secret = "s3cret-of-the-host";

/**
 * The fastest that is here: servers are started, asked and checked by the host. How a cell of each runner calls a function of the host is
 * part of the runners' contract (test/contract/host-calls.ts).
 */
const runner = (await availableRunners()).includes("process") ? "process" : "wasm";

/** A project with a policy and a file of servers. */
async function configured(root: string, name: string, tools: object, servers: Record<string, object> = {}) {
  const policy = join(root, `${name}.policy.json`);
  const file = join(root, `${name}.servers.json`);
  const own = { command: process.execPath, args: [toolServer, "good", join(root, "notes")] };
  await writeFile(policy, JSON.stringify({ isolation: { runner, minimum: "wasm" }, proc: { timeout: "60s" }, tools }));
  await writeFile(file, JSON.stringify({ mcpServers: { test: { ...own, env: { GIVEN: "yes" } }, ...servers } }));
  return ["--policy", policy, "--tools-from", file];
}

let root: string;
let commands: CommandsHere;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "cc-tools-"));
  commands = await CommandsHere.open();
});
afterAll(async () => {
  await commands[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
});

/** The server of `codecell mcp` has variables that no other server may see. */
const open = async (name: string, tools: object, servers?: Record<string, object>) =>
  McpPair.open("stdio", "legacy", await configured(root, name, tools, servers), { HOST_SECRET: secret });

const catching = (code: string) =>
  `try:\n    print(${code})\nexcept Exception as error:\n    print(type(error).__mro__[-3].__name__, error.type, error)`;

describe("code that calls tools of another MCP server", () => {
  let pair: McpPair;
  const run = async (code: string) => (await pair.call("run_python", { code })).text;
  beforeAll(async () => {
    pair = await open("main", { allow: ["test/*", "test/write_note"], calls: 50, timeout: "2s", result: "64KiB" });
  });
  afterAll(() => pair[Symbol.asyncDispose]());

  test("one program makes many calls", async () => {
    expect(await run("print(sum(test_add(n, b=1)['sum'] for n in range(20)))")).toContain("210");
  });

  test("gets structured content, JSON text, plain text and pictures as values", async () => {
    const text = await run("print(test_add(1, 2), test_plain(), test_image(), test_echo('x', max_items=7))");
    expect(text).toContain("{'sum': 3} only text [{'type': 'image', 'mimeType': 'image/png', 'data': 'aGVsbG8='}]");
    expect(text).toContain("{'from': 'x', 'max-items': 7}");
  });

  test("leaves out optional arguments that are None", async () => {
    expect(await run("print(test_echo(from_='x', max_items=None))")).toContain("{'from': 'x'}");
  });

  test("finds the functions by mcp_tools and their parameters by help", async () => {
    expect(await run("print(mcp_tools()['functions']['test_add'])")).toMatch(/Adds two numbers\.\n?$/);
    const text = await run("import inspect\nprint(inspect.signature(test_echo))\nhelp(test_echo)");
    expect(text).toContain("(from_: 'str', max_items: 'int | None' = ...) -> 'Any'");
    expect(text).toContain("(default: 3)");
    expect(text).toContain("Calls the tool echo of the MCP server test.");
  });

  test("has no function for tools that are not marked as read-only, except by their exact name", async () => {
    const found = await run("print([name for name in dir(__builtins__) if name.startswith('test_')])");
    expect(found).toContain("test_write_note");
    expect(found).not.toContain("unmarked");
    expect(await run("print(test_write_note('hello'))")).toContain("written");
    expect(await readFile(join(root, "notes"), "utf8")).toBe("hello\n");
  });

  test("gets the tool's own error as an exception", async () => {
    expect(await run(catching("test_fail()"))).toContain("ToolError the shelf is empty");
  });

  test("is refused a result over the limit", async () => {
    expect(await run(catching("len(test_big(60_000))"))).toContain("60000");
    expect(await run(catching("test_big(100_000)"))).toMatch(/PermissionError .*tools.result permits 64KiB/);
  });

  test("is told after the time limit that a tool does not answer, and can call others", async () => {
    expect(await run(catching("test_hang()"))).toContain("TimeoutError test/hang did not answer within 2s");
    expect(await run("print(test_plain())")).toContain("only text");
  });

  test("is told that the server exited, and the next call finds it started again", async () => {
    expect(await run(catching("test_crash()"))).toContain("ServerUnavailable test/crash failed");
    expect(await run("print(test_plain())")).toContain("only text");
  });

  test("survives a server that floods its client with messages", async () => {
    // A very busy machine reads so slowly that the call times out first. Then the connection may close during a later call.
    expect(await run(catching("test_flood()"))).toMatch(/ServerUnavailable|TimeoutError/);
    await expect.poll(() => run(catching("test_plain()"))).toContain("only text");
  });

  test("can use a tool whose schema is wrong: the server decides", async () => {
    const code = `print(test_liar(slow='${"a".repeat(40)}!', lost=[1], odd={'k': 2}), test_wide({'a b': 1}))`;
    expect(await run(code)).toContain("'lost': [1], 'odd': {'k': 2}} {'a b': 1}");
  });

  test("cannot call another tool or server by forging a call", async () => {
    const forged = (name: string) =>
      [
        "import gc",
        `spec = {'name': '${name}', 'parameters': [], 'description': '', 'returns': 'Any'}`,
        "functions = next(one for one in gc.get_objects() if type(one).__name__ == 'GuestFunctions')",
        catching("functions.function(spec)()"),
      ].join("\n");
    for (const name of ["test_unmarked", "test/unmarked", "unmarked", "__proto__", "constructor"]) {
      expect(await run(forged(name))).toContain("the host has no function");
    }
    const extra = [
      "import gc",
      "functions = next(one for one in gc.get_objects() if type(one).__name__ == 'GuestFunctions')",
      "names = [{'name': name, 'hint': 'Any', 'required': True} for name in ('a', 'b', 'name')]",
      "spec = {'name': 'test_add', 'parameters': names, 'description': '', 'returns': 'Any'}",
      catching("functions.function(spec)(1, 2, 'unmarked')"),
    ].join("\n");
    expect(await run(extra)).toContain("TypeError");
  });

  test("reaches a server that has the operator's variables, and none of codecell's", async () => {
    const text = await run("print(test_variables())");
    expect(text).toContain("'GIVEN': 'yes'");
    expect(text).not.toContain(secret);
    expect(text).not.toContain("CODECELL_TEST_TAG");
  });

  test("is refused a tool whose server took its read-only mark back", async () => {
    expect(await run("print(test_victim())")).toContain("called");
    // one program: the function is still there, and the host checks each call against the list that it asks for again
    const untilRefused = [
      "import time",
      "test_swap()",
      "for _ in range(40):",
      "    try: test_victim()",
      "    except Exception as error:",
      "        print(type(error).__mro__[-3].__name__, error.type, error)",
      "        break",
      "    time.sleep(0.2)",
    ];
    expect(await run(untilRefused.join("\n"))).toMatch(
      /PermissionError tools.allow does not permit test\/victim, which may change something/,
    );
    expect(await run("print('test_victim' in dir(__builtins__))")).toContain("False");
  });

  test("is refused calls over the limit of a run, and the next run starts at zero", async () => {
    const code =
      "for n in range(60):\n    try:\n        test_add(n, n)\n    except PermissionError as error:\n        print(n, error)\n        break";
    expect(await run(code)).toContain("50 this run made 50 calls of tools");
    expect(await run("print(test_plain())")).toContain("only text");
  });

  test("leaves an event in the audit for each call, without its data", async () => {
    await run("test_echo('n0t-in-the-audit')");
    const argv = ["audit", "export", "--state-dir", pair.directories.state, "--format", "jsonl"];
    const called = async () =>
      (await commands.run(argv)).stdout.split("\n").filter((line) => line.includes('"tool.called"'));
    // the server writes its audit a moment after the answer
    await expect.poll(async () => (await called()).at(-1)).toContain('"echo"');
    const events = (await called()).map((line) => JSON.parse(line));
    const statuses = new Set(events.map((event) => (event.event ?? event).status));
    expect([...statuses].sort()).toEqual(["error", "ok", "refused", "timeout", "unavailable"]);
    expect(events.at(-1).event ?? events.at(-1)).toMatchObject({ server: "test", tool: "echo", status: "ok" });
    expect(events.map((event) => JSON.stringify(event)).join()).not.toContain("n0t-in-the-audit");
  });
});

describe("codecell mcp with other MCP servers", () => {
  test("offers no function and starts no server if the policy permits no tool", async () => {
    await using pair = await open("none", {});
    const found = await pair.call("run_python", {
      code: "print([n for n in dir(__builtins__) if 'test' in n or 'mcp' in n])",
    });
    expect(found.text).toContain("[]");
    expect(pair.client.getInstructions()).not.toContain("mcp_tools");
  });

  test("uses a server over HTTP, with the operator's header", async () => {
    const directories = await newTestDirectories();
    const other = startHttp(directories, ["--runner", runner]);
    try {
      const { url, token } = await httpAddress(other);
      // this token is in the environment of codecell, and not in the file
      const header = `Bearer $${"{OTHER_TOKEN}"}`;
      const cell = { type: "http", url: url.href, headers: { authorization: header } };
      const args = await configured(root, "http", { allow: ["cell/*"] }, { cell });
      await using pair = await McpPair.open("stdio", "legacy", args, { OTHER_TOKEN: token });
      const code =
        "print('variables' in str(cell_rlm_vars()), [n for n in mcp_tools()['functions'] if 'run_python' in n])";
      expect((await pair.call("run_python", { code, wait: 45 })).text).toContain("True []");
      await stopped(other);
      const dead = await pair.call("run_python", { code: catching("cell_rlm_vars()") });
      expect(dead.text).toContain("ServerUnavailable cell/rlm_vars failed");
    } finally {
      await stopped(other);
      await removeTestDirectories(directories);
    }
  });

  test.each([
    ["{", "it is not JSON"],
    ["{}", 'it has no "mcpServers"'],
    [JSON.stringify({ mcpServers: { a: {} } }), "a: expected"],
    [JSON.stringify({ mcpServers: { "a b": { command: "x" } } }), "is not a name"],
    [JSON.stringify({ mcpServers: { a: { command: `$${"{NO_SUCH_VARIABLE}"}` } } }), "NO_SUCH_VARIABLE is not set"],
  ])("reports a file of servers that it cannot use: %s", async (content, message) => {
    const file = join(root, "bad.json");
    await writeFile(file, content);
    const { stderr, code } = await commands.run(["mcp", "--tools-from", file]);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  test("does not start servers when it is itself a server that codecell started", async () => {
    const [, , , file = ""] = await configured(root, "loop", { allow: ["*/*"] });
    const { stderr, code } = await codecell(["mcp", "--tools-from", file], { env: { CODECELL_UPSTREAM: "1" } });
    expect(stderr).toContain("--tools-from does not work in a server that codecell itself started");
    expect(code).toBe(2);
  });

  test("refuses a file of servers that code could rewrite", async () => {
    const work = join(root, "work");
    await mkdir(work, { mode: 0o777 });
    const [, policy = "", , file = ""] = await configured(root, "inside", { allow: ["test/*"] });
    await writeFile(join(work, "servers.json"), await readFile(file, "utf8"));
    const rules = JSON.parse(await readFile(policy, "utf8"));
    await writeFile(policy, JSON.stringify({ ...rules, isolation: {}, fs: { workspace: work } }));
    const args = ["--policy", policy, "--tools-from", join(work, "servers.json")];
    await using pair = await McpPair.open("stdio", "legacy", args);
    const { text, isError } = await pair.call("run_python", { code: "1" });
    expect(isError).toBe(true);
    expect(text).toContain("the next server would start what it says");
  });
});

describe("codecell mcp with servers of which some fail, and a next one with the same state", () => {
  const broken = { command: process.execPath, args: [toolServer, "exits"] };
  const silent = { command: process.execPath, args: [toolServer, "silent"] };
  const missing = { command: "/no/such/program" };
  const code = "print(test_plain(), mcp_tools()['unavailable_servers'])\nprint('pid', test_variables()['TEST_PID'])";
  let args: string[];
  let pair: McpPair;
  let readyMs: number;
  beforeAll(async () => {
    args = await configured(root, "broken", { allow: ["*/*"] }, { broken, silent, missing });
    args.push("--state-dir", join(root, "broken-state"));
    const before = performance.now();
    pair = await McpPair.open("stdio", "legacy", args);
    readyMs = performance.now() - before;
  });
  afterAll(() => pair[Symbol.asyncDispose]());

  test("is ready before its servers are", () => {
    expect(readyMs).toBeLessThan(8_000); // a server that never answers delays nothing
    expect(pair.client.getInstructions()).toContain("mcp_tools() lists them");
  });

  test("works with the others when one server exits at once and one never answers", async () => {
    const { text } = await pair.call("run_python", { code, wait: 30 });
    expect(text).toContain("only text ['broken', 'missing']");
    expect(text).not.toContain("/no/such");
    // the first run waited for the silent server; later ones do not
    const before = performance.now();
    await pair.call("run_python", { code });
    expect(performance.now() - before).toBeLessThan(8_000);
  });

  test("stops its servers when its client leaves, and the next one tells a model what they offer", async () => {
    const { text } = await pair.call("run_python", { code, wait: 30 });
    const pid = Number(/pid (\d+)/.exec(text)?.[1]);
    expect(pid).toBeGreaterThan(0);
    process.kill(pid, 0);
    await pair[Symbol.asyncDispose]();
    await expect.poll(() => isAlive(pid), { timeout: 8_000 }).toBe(false);
    pair = await McpPair.open("stdio", "legacy", args);
    const { tools } = await pair.client.listTools();
    const { description = "", annotations } = tools.find(({ name }) => name === "run_python") ?? {};
    expect(description).toContain("- test_add: Adds two numbers.\n");
    expect(description).not.toContain("second line");
    expect(annotations).toMatchObject({ openWorldHint: true, destructiveHint: false });
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
