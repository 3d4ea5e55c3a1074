import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { TestService } from "../../../test/support/http-service.ts";
import { CodecellError } from "../../lib/errors.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import type { Sandbox } from "../../service/sandbox.ts";
import { streamRun } from "./answers/stream-run.ts";
import { defaultLimits } from "./limits.ts";

const path = "/srv/keys/search.key";
const reason = `net.secrets.KEY: ${path} cannot be read (ENOENT)`;

/** What stderr shows where nobody asked for a log: the words of errors, without their facts. */
function heardErrors(): { heard: string[]; logger: Logger } {
  const heard: string[] = [];
  return { heard, logger: { ...silentLogger, error: (message) => void heard.push(message) } };
}

async function failingService(logger: Logger, code: "secret_unavailable" | "policy_refused"): Promise<TestService> {
  const beforeStart = () => {
    throw new CodecellError(code, reason);
  };
  return TestService.open({ runners: [new FakeRunner({ beforeStart })], logger });
}

test.each(["secret_unavailable", "policy_refused"] as const)(
  "the log has a reason that the tenant is not told: %s",
  async (code) => {
    const { heard, logger } = heardErrors();
    await using service = await failingService(logger, code);
    const client = await service.client("a");
    const answer = await client.call("POST", "/v1/sessions", {});
    expect(answer.json.error.code).toBe(code);
    expect(answer.text).not.toContain("/srv");
    expect(heard.join("\n")).toContain(path);
  },
);

test("the log has the reason that an MCP tool does not tell a tenant", async () => {
  const { heard, logger } = heardErrors();
  await using service = await failingService(logger, "secret_unavailable");
  const client = await service.client("a");
  const mcp = new Client({ name: "test", version: "1" });
  onTestFinished(() => mcp.close());
  const requestInit = { headers: client.headers };
  await mcp.connect(new StreamableHTTPClientTransport(new URL(`${client.url}/mcp`), { requestInit }));
  const answer = await mcp.callTool({ name: "run_python", arguments: { code: "1" } });
  expect(JSON.stringify(answer)).not.toContain("/srv");
  expect(heard.join("\n")).toContain(path);
});

test("the log has the reason why a stream failed", async () => {
  const { heard, logger } = heardErrors();
  const runs = {
    status: () => ({ sessionId: "s" }),
    // biome-ignore lint/correctness/useYield: it fails before the first event
    async *watch() {
      throw new CodecellError("secret_unavailable", reason);
    },
  };
  const service = { limits: defaultLimits, tellFailure: (error: unknown) => logger.error(String(error)) };
  const reply = streamRun({ runs } as unknown as Sandbox, "r", { fromOffset: 0, service });
  const server = createServer((_, response) => {
    if ("send" in reply) void reply.send(response, new AbortController().signal);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(await response.text()).not.toContain("/srv");
    expect(heard.join("\n")).toContain(path);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
