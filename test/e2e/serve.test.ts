import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventsOf, TestClient } from "../support/http-service.ts";
import { availableRunners, living } from "./codecell-process.ts";
import { CommandsHere } from "./commands-here.ts";
import { type RunningService, ServiceDirectory } from "./running-service.ts";

const hasProcess = (await availableRunners()).includes("process");

/** Commands that only read and write the state of a service. */
let commands: CommandsHere;
beforeAll(async () => {
  commands = await CommandsHere.open();
});
afterAll(() => commands[Symbol.asyncDispose]());

let directory: ServiceDirectory;
beforeEach(async () => {
  directory = await ServiceDirectory.make();
});
afterEach(() => directory[Symbol.asyncDispose]());

const serve: ServiceDirectory["serve"] = (args, options) => directory.serve(args, options);

async function newToken(name: string, args: readonly string[] = []): Promise<string> {
  const { stdout } = await commands.run(["token", "create", "--name", name, ...directory.state, ...args]);
  return stdout.trim();
}

async function policyFile(text: string, { path } = directory): Promise<string[]> {
  const file = join(path, "sandbox.policy.yaml");
  await writeFile(file, text);
  return ["--policy", file];
}

describe("codecell token", () => {
  test("creates, lists, renews and removes tokens, and prints each only once", async () => {
    const first = await newToken("alice", ["--scopes", "run,metrics", "--sessions", "2", "--expires", "30d"]);
    expect(first).toMatch(/^cc_[\w-]{43}$/);
    const token = (...argv: string[]) => commands.run(["token", ...argv, ...directory.state]);
    const listed = await token("ls", "--json");
    expect(JSON.parse(listed.stdout).tokens).toMatchObject([
      { name: "alice", scopes: ["run", "metrics"], sessions: 2, namespace: expect.stringMatching(/^ns-/) },
    ]);
    expect(listed.stdout).not.toContain(first);
    expect((await token("ls")).stdout).toContain("alice");
    expect((await token("rotate", "alice")).stdout.trim()).not.toBe(first);
    expect((await token("rm", "alice")).stdout).toBe("removed alice\n");
    const again = await token("rm", "alice");
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("codecell token ls") });
  });
});

describe("codecell serve", () => {
  test("prints the OpenAPI document without starting anything", async () => {
    const { code, stdout } = await commands.run(["serve", "--print-openapi"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ openapi: "3.1.0", paths: { "/v1/sessions": {} } });
  });

  test("refuses a public address while there is no token, and prints a hint", async () => {
    const refused = await commands.run(["serve", "--host", "0.0.0.0", "--port", "0", ...directory.stateArguments]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/no token.*other machines[\s\S]*token create[\s\S]*TLS/);
  });

  test("creates the token of --create-token only once nothing refuses the start, so that somebody sees it", async () => {
    const { port } = new URL((await serve(["--runner", "wasm"])).facts.url);
    const argv = ["serve", "--port", port, "--create-token", "owner"];
    const refused = await commands.run([...argv, ...directory.stateArguments]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("another program uses this port") });
    const { facts, client } = await serve(["--create-token", "owner", "--runner", "wasm"]);
    expect(facts).toMatchObject({
      token: expect.stringMatching(/^cc_/),
      token_file: expect.stringMatching(/tokens\.json$/),
    });
    expect((await client.call("GET", "/v1/me")).json).toMatchObject({ token: "owner" });
  });

  test("refuses to share one writable directory among several tokens", async () => {
    await newToken("alice");
    const policy = await policyFile(`fs:\n  workspace: ${directory.path}\n`);
    const refused = await commands.run(["serve", "--port", "0", ...directory.stateArguments, ...policy]);
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("share a writable directory") });
  });
});

describe.skipIf(!hasProcess)("a running service", () => {
  test("that was killed leaves nothing in the runtime directory once the next one has started", async () => {
    const runtimeDir = join(directory.path, "run");
    const killed = await serve(["--runner", "process"]);
    expect(killed.facts.token_file).toMatch(new RegExp(`^${runtimeDir}/serve-\\d+\\.token$`));
    const kept = /^(?:remembered|kernel)-/; // answers and files that the next one uses too
    const left = (await readdir(runtimeDir)).filter((name) => !kept.test(name));
    killed.server.child.kill("SIGKILL");
    await killed.server.finished;
    const next = await serve(["--runner", "process"]);
    const names = await readdir(runtimeDir);
    expect(names.filter((name) => left.includes(name))).toEqual([]);
    expect(names).toContain(basename(next.facts.token_file ?? ""));
  });

  test("keeps the files of its cells and its proxy where --runtime-dir says", async () => {
    const elsewhere = join(directory.path, "elsewhere");
    await mkdir(elsewhere, { mode: 0o755 });
    const policy = await policyFile("net: { enabled: true }\n");
    const { client } = await serve(["--runner", "process", ...policy], { env: { XDG_RUNTIME_DIR: elsewhere } });
    await client.session("s");
    expect((await client.run("s", "1 + 1")).json.value).toBe("2");
    expect(await readdir(elsewhere)).toEqual([]);
    const names = await readdir(join(directory.path, "run"));
    expect(names.map((name) => name.split("-")[0])).toEqual(expect.arrayContaining(["kernel", "egress", "owner"]));
  });

  test("on SIGTERM ends its runs, saves persistent sessions and leaves no process", async () => {
    const policy = await policyFile("session:\n  persist: true\n");
    const token = await newToken("alice");
    const first = await serve(["--runner", "process", ...policy]);
    const client = new TestClient(first.facts.url, token);
    await client.session("kept");
    await client.run("kept", "open('file.txt', 'w').write('on disk'); x = 41");
    const stream = await client.fetch("/v1/sessions/kept/runs", {
      ...{ method: "POST", headers: { accept: "text/event-stream", "content-type": "application/json" } },
      body: JSON.stringify({ code: "import time\nprint('go', flush=True)\ntime.sleep(5)\nx += 1\nprint('done')" }),
    });
    const events = eventsOf(stream);
    while ((await events.next()).value?.event !== "stdout");
    const below = first.server.descendants();
    expect(below.length).toBeGreaterThan(0);
    first.server.child.kill("SIGTERM");
    await first.server.printed("waiting for runs to finish");
    const rest = [];
    for await (const event of events) rest.push(event);
    expect(rest.at(-1)).toMatchObject({ event: "result", data: { run: { status: "ok", stdout: "go\ndone\n" } } });
    expect((await first.server.finished).code).toBe(0);
    await expect.poll(() => living(below)).toEqual([]);

    const second = await serve(["--runner", "process", ...policy]);
    const again = new TestClient(second.facts.url, token);
    expect((await again.call("GET", "/v1/sessions")).json.sessions).toMatchObject([
      { session_id: "kept", state: "saved" },
    ]);
    expect((await again.run("kept", "x, open('file.txt').read()")).json.value).toBe("(42, 'on disk')");
    const stranger = new TestClient(second.facts.url, await newToken("bob"));
    expect((await stranger.call("GET", "/v1/sessions")).json.sessions).toEqual([]);
    expect((await stranger.call("GET", "/v1/sessions/kept")).status).toBe(404);
  });
});

describe.skipIf(!hasProcess)("a service that was started without a token", () => {
  let own: ServiceDirectory;
  let running: RunningService;
  beforeAll(async () => {
    own = await ServiceDirectory.make();
    running = await own.serve(["--runner", "process", ...(await policyFile("net: { enabled: true }\n", own))]);
    await running.client.session("s");
  });
  afterAll(() => own?.[Symbol.asyncDispose]());

  test("creates a temporary one", async () => {
    expect(running.facts.token).toMatch(/^cc_/);
    expect((await running.client.run("s", "1 + 1")).json.value).toBe("2");
  });

  test("reloads its policy on SIGHUP, and applies the network rules to live sessions", async () => {
    const { server, client } = running;
    const ask = 'import urllib.request\nurllib.request.urlopen("http://evil.example/")';
    const reason = async () => (await client.run("s", ask)).json.error.message;
    expect(await reason()).toContain("evil.example is not in net.allowlist");
    await policyFile("net: { enabled: true, deny: [evil.example] }\nproc: { memory: 1GiB }\n", own);
    server.child.kill("SIGHUP");
    await server.printed("codecell: net.deny changed from none to evil.example\n");
    await server.printed("codecell: restart to apply changes of: proc.memory\n");
    expect(await reason()).toContain("evil.example is in net.deny");
    await policyFile("nte: {}\n", own);
    server.child.kill("SIGHUP");
    await server.printed("codecell: kept the current policy: ");
    expect(await reason()).toContain("evil.example is in net.deny");
    const events = (await commands.run(["audit", "tail", "--json", ...own.state])).stdout;
    expect(events).toMatch(/"override\.applied".*"policy file"/);
  });

  test("removes the temporary one at the end", async () => {
    const { server, facts } = running;
    server.child.kill("SIGTERM");
    expect((await server.finished).code).toBe(0);
    await expect(readdir(facts.token_file ?? "")).rejects.toThrow(/ENOENT/);
  });
});

describe.skipIf(!hasProcess)("a service with a token from the environment and a short --drain", () => {
  const token = "a-token-of-the-environment";
  let own: ServiceDirectory;
  let running: RunningService;
  let client: TestClient;
  beforeAll(async () => {
    own = await ServiceDirectory.make();
    running = await own.serve(["--runner", "process", "--drain", "200ms"], { env: { CODECELL_TOKEN: token } });
    client = new TestClient(running.facts.url, token);
  });
  afterAll(() => own?.[Symbol.asyncDispose]());

  test("accepts this token and no other", async () => {
    const { facts } = running;
    expect(facts.token).toBeUndefined();
    expect((await client.call("GET", "/metrics")).status).toBe(200);
    expect((await new TestClient(facts.url, "something-else-of-it").call("GET", "/metrics")).status).toBe(401);
  });

  test("kills runs that do not end within --drain", async () => {
    const { server } = running;
    await client.session("s");
    const stream = await client.fetch("/v1/sessions/s/runs", {
      ...{ method: "POST", headers: { accept: "text/event-stream", "content-type": "application/json" } },
      body: JSON.stringify({ code: "print('go', flush=True)\nwhile True: pass" }),
    });
    const events = eventsOf(stream);
    while ((await events.next()).value?.event !== "stdout");
    server.child.kill("SIGTERM");
    const rest = [];
    for await (const event of events) rest.push(event);
    expect(rest.at(-1)).toMatchObject({ event: "result", data: { run: { status: "cancelled" } } });
    expect((await server.finished).code).toBe(0);
  });
});
