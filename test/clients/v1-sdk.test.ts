import { rm } from "node:fs/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ResourceListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cleanup } from "../../src/lib/cleanup.ts";
import {
  httpAddress,
  newTestDirectories,
  serverArguments,
  startHttp,
  stopped,
  type TestDirectories,
} from "../e2e/mcp-client.ts";
import { lacking } from "./lacking.ts";

/** runs forever, and writes a file when it is interrupted */
const untilStopped =
  "import time\ntry:\n  print('busy', flush=True)\n  while True: time.sleep(0.02)\nfinally: open('stopped', 'w').write('yes')";

describe.skipIf(await lacking("process runner")).each(["stdio", "http"])("a client of the v1 SDK over %s", (over) => {
  const cleanup = new Cleanup();
  let client: Client;
  let resourceChanges = 0;

  beforeAll(async () => {
    const directories = await newTestDirectories();
    cleanup.defer(() => rm(directories.top, { recursive: true, force: true }));
    client = new Client({ name: "codecell-v1-test", version: "1" });
    client.setNotificationHandler(ResourceListChangedNotificationSchema, () => {
      resourceChanges++;
    });
    await client.connect(over === "stdio" ? overStdio(directories) : await overHttp(directories, cleanup));
    cleanup.defer(() => client.close());
  });
  afterAll(() => cleanup[Symbol.asyncDispose]());

  async function call(name: string, args: Record<string, unknown>, options = {}) {
    const {
      structuredContent,
      content,
      isError = false,
    } = await client.callTool({ name, arguments: args }, undefined, options);
    return {
      facts: structuredContent as Record<string, unknown>,
      content: content as Record<string, unknown>[],
      isError,
    };
  }

  test("connects with a 2025 protocol version and lists every tool with its schemas", async () => {
    expect(client.getServerVersion()).toMatchObject({ name: "codecell" });
    expect(client.getInstructions()).toContain("run_python");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["run_python", "rlm_exec", "get_run"]));
    expect(
      tools.every(({ inputSchema, outputSchema }) => inputSchema.type === "object" && outputSchema !== undefined),
    ).toBe(true);
  });

  test("runs code and gets a result that matches the tool's output schema", async () => {
    const { facts, content } = await call("run_python", { code: "print('hello')\n6 * 7" });
    expect(facts).toMatchObject({ status: "ok", stdout: "hello\n", value: "42" });
    expect(content[0]).toMatchObject({ type: "text", text: expect.stringContaining("hello") });
  });

  test("gets a failure as an error with a hint", async () => {
    const { isError, content } = await call("run_python", { code: "1", session_id: "nobody" });
    expect(isError).toBe(true);
    expect(content[0]?.text).toMatch(/^session_unknown/);
  });

  test("receives progress of a run, and stops the run by cancelling the call", async () => {
    const session_id = (await call("run_python", { code: "1" })).facts.session_id;
    const cancelling = new AbortController();
    const onprogress = () => cancelling.abort("enough");
    const running = call("run_python", { code: untilStopped, session_id }, { signal: cancelling.signal, onprogress });
    await expect(running).rejects.toThrow();
    // The session runs one program at a time: this one starts when the other has ended.
    const after = await call("run_python", { code: "open('stopped').read()", session_id });
    expect(after.facts).toMatchObject({ status: "ok", value: "'yes'" });
  });

  test("is notified of new files, lists them and reads them as resources", async () => {
    const before = resourceChanges;
    const run = await call("run_python", { code: "open('table.csv', 'w').write('a,b\\n1,2\\n')" });
    const [{ uri }] = run.facts.artifacts as [{ uri: string }];
    const { resources } = await client.listResources();
    expect(resources.map((resource) => resource.uri)).toContain(uri);
    expect((await client.readResource({ uri })).contents).toMatchObject([{ uri, text: "a,b\n1,2\n" }]);
    await expect.poll(() => resourceChanges, { timeout: 30_000 }).toBeGreaterThan(before);
  });

  test("gets an error for a resource that does not exist", async () => {
    await expect(client.readResource({ uri: "codecell://sessions/none/artifacts/a" })).rejects.toThrow(/not found/i);
  });
});

function overStdio(directories: TestDirectories): Transport {
  const env = { PATH: process.env.PATH ?? "", HOME: directories.top };
  return new StdioClientTransport({
    ...{
      command: process.execPath,
      args: [...serverArguments(directories), "--structured"],
      cwd: directories.project,
      env,
      stderr: "inherit",
    },
  });
}

async function overHttp(directories: TestDirectories, cleanup: Cleanup): Promise<Transport> {
  const server = startHttp(directories, ["--structured"]);
  cleanup.defer(() => stopped(server));
  const { url, token } = await httpAddress(server);
  const headers = { authorization: `Bearer ${token}` };
  // the SDK's own classes disagree about `undefined` under exactOptionalPropertyTypes
  return new StreamableHTTPClientTransport(url, { requestInit: { headers } }) as Transport;
}
