import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Cleanup } from "../src/lib/cleanup.ts";
import { parsePolicy } from "../src/policy/file/parse-policy.ts";
import { Codecell } from "../src/sessions/codecell.ts";
import { HttpService, listen, MountServer, newTokenText, TokenStore } from "../src/surfaces/http/index.ts";
import { createMcpServer, mcpMount, sandboxFor } from "../src/surfaces/mcp/index.ts";
import { FakeRunner } from "./fakes/fake-runner.ts";
import { newStateDir, removeStateDir } from "./support/managers.ts";

let codecell: Codecell;
let cleanup: Cleanup;
beforeEach(async () => {
  cleanup = new Cleanup();
  const stateDir = await newStateDir();
  cleanup.defer(() => removeStateDir(stateDir));
  const runner = new FakeRunner({ program: async ({ code }) => ({ result: `ran ${code}` }) });
  codecell = await Codecell.open({
    policy: parsePolicy({}),
    runners: [runner],
    stateDir,
    runtimeDir: `${stateDir}/rt`,
  });
  cleanup.defer(() => codecell[Symbol.asyncDispose]());
});
afterEach(() => cleanup[Symbol.asyncDispose]());

async function runWith(client: Client): Promise<{ status: string; session_id: string }> {
  const { structuredContent } = await client.callTool({ name: "run_python", arguments: { code: "1" } });
  return structuredContent as { status: string; session_id: string };
}

async function connected(url: string, token: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  cleanup.defer(() => client.close());
  return client;
}

test("an MCP server embedded in a program uses that program's sessions and leaves them open", async () => {
  const sandbox = sandboxFor(codecell);
  const [near, far] = InMemoryTransport.createLinkedPair();
  await createMcpServer(sandbox, { structured: true }).connect(far);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(near);
  const { tools } = await client.listTools();
  // the default policy allows neither host writes nor network
  const hints = { destructiveHint: false, openWorldHint: false };
  expect(tools.find(({ name }) => name === "run_python")?.annotations).toMatchObject(hints);
  const { status, session_id } = await runWith(client);
  expect(status).toBe("ok");
  await client.close();
  await sandbox[Symbol.asyncDispose]();
  expect((await codecell.info(session_id)).state).toBe("live");
});

test("the HTTP service can be mounted in another program's server, with MCP beside its routes", async () => {
  const token = newTokenText();
  const service = new HttpService({
    codecell,
    tokens: TokenStore.single(token),
    mount: mcpMount({ structured: true }),
  });
  cleanup.defer(() => service[Symbol.asyncDispose]());
  const server = createServer((request, response) => service.handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanup.defer(() => server.closeAllConnections());
  cleanup.defer(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { session_id } = await runWith(await connected(url, token));
  const headers = { authorization: `Bearer ${token}` };
  const answer = (await (await fetch(`${url}/v1/sessions`, { headers })).json()) as { sessions: object[] };
  expect(answer.sessions).toMatchObject([{ session_id, state: "live" }]);
});

test("the MCP server can be served alone on its own port", async () => {
  const token = newTokenText();
  const sandbox = sandboxFor(codecell);
  cleanup.defer(() => sandbox[Symbol.asyncDispose]());
  const server = new MountServer({ sandbox, mount: mcpMount({ structured: true }), token });
  const listener = await listen(server, { host: "127.0.0.1", port: 0 });
  cleanup.defer(() => listener.end());
  cleanup.defer(() => server[Symbol.asyncDispose]());
  const { session_id } = await runWith(await connected(listener.url, token));
  expect((await codecell.info(session_id)).state).toBe("live");
});
