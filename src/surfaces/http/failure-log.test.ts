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

/** Collects what stderr shows without a log file: the messages of errors, without their data. */
function collectErrors(): { errors: string[]; logger: Logger } {
  const errors: string[] = [];
  return { errors, logger: { ...silentLogger, error: (message) => void errors.push(message) } };
}

async function failingService(logger: Logger, code: "secret_unavailable" | "policy_refused"): Promise<TestService> {
  const beforeStart = () => {
    throw new CodecellError(code, reason);
  };
  return TestService.open({ runners: [new FakeRunner({ beforeStart })], logger });
}

test.each(["secret_unavailable", "policy_refused"] as const)(
  "the log has the reason of %s, which the tenant does not see",
  async (code) => {
    const { errors, logger } = collectErrors();
    await using service = await failingService(logger, code);
    const client = await service.client("a");
    const answer = await client.call("POST", "/v1/sessions", {});
    expect(answer.json.error.code).toBe(code);
    expect(answer.text).not.toContain("/srv");
    expect(errors.join("\n")).toContain(path);
  },
);

test("the log has the reason why an MCP tool failed, which the tenant does not see", async () => {
  const { errors, logger } = collectErrors();
  await using service = await failingService(logger, "secret_unavailable");
  const client = await service.client("a");
  const mcp = new Client({ name: "test", version: "1" });
  onTestFinished(() => mcp.close());
  const requestInit = { headers: client.headers };
  await mcp.connect(new StreamableHTTPClientTransport(new URL(`${client.url}/mcp`), { requestInit }));
  const answer = await mcp.callTool({ name: "run_python", arguments: { code: "1" } });
  expect(JSON.stringify(answer)).not.toContain("/srv");
  expect(errors.join("\n")).toContain(path);
});

test("the log has the reason why an event stream failed", async () => {
  const { errors, logger } = collectErrors();
  const runs = {
    status: () => ({ sessionId: "s" }),
    // biome-ignore lint/correctness/useYield: it fails before the first event
    async *watch() {
      throw new CodecellError("secret_unavailable", reason);
    },
  };
  const service = { limits: defaultLimits, logFailure: (error: unknown) => logger.error(String(error)) };
  const reply = streamRun({ runs } as unknown as Sandbox, "r", { fromOffset: 0, memory: undefined, service });
  const server = createServer((_, response) => {
    if ("send" in reply) void reply.send(response, new AbortController().signal);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(await response.text()).not.toContain("/srv");
    expect(errors.join("\n")).toContain(path);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
