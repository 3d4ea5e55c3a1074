import { describe, expect, test } from "vitest";
import { silentLogger } from "../../lib/log/logger.ts";
import type { ConnectOptions, UpstreamClient, UpstreamTool } from "./upstream-client.ts";
import { UpstreamServer } from "./upstream-server.ts";

const config = { kind: "stdio", name: "docs", command: "docs", args: [], env: {} } as const;
const tool = (name: string): UpstreamTool => ({ name, description: "", inputSchema: {}, isReadOnly: true });
const never = new AbortController().signal;

/** Connections to a server that does what the test says. */
class FakeServer {
  connections: ConnectOptions[] = [];
  tools = [tool("search")];
  failure: Error | undefined;
  closed = 0;
  lists = 0;

  readonly connect = async (_config: unknown, options: ConnectOptions): Promise<UpstreamClient> => {
    this.connections.push(options);
    if (this.failure) throw this.failure;
    return {
      listTools: async () => {
        this.lists++;
        return this.tools;
      },
      callTool: async () => ({ content: [], isError: false }),
      [Symbol.asyncDispose]: async () => {
        this.closed++;
      },
    };
  };
}

describe("an MCP server that codecell uses", () => {
  test("is started once for many callers, and lists its tools", async () => {
    const fake = new FakeServer();
    await using server = new UpstreamServer(config, { connect: fake.connect, logger: silentLogger });
    expect(server.tools).toEqual([]);
    const clients = await Promise.all([server.client(never), server.client(never)]);
    expect(clients[0]).toBe(clients[1]);
    expect(fake.connections).toHaveLength(1);
    expect(server.tools.map(({ name }) => name)).toEqual(["search"]);
  });

  test("is started again by the next call after it died, and keeps its tools meanwhile", async () => {
    const fake = new FakeServer();
    await using server = new UpstreamServer(config, { connect: fake.connect, logger: silentLogger });
    await server.client(never);
    fake.connections[0]?.onClosed();
    expect(server.tools).toHaveLength(1);
    await server.client(never);
    expect(fake.connections).toHaveLength(2);
  });

  test("is not started again at once after it failed, and the reason does not reach the cell", async () => {
    const fake = new FakeServer();
    let now = 0;
    await using server = new UpstreamServer(config, { connect: fake.connect, logger: silentLogger, now: () => now });
    fake.failure = new Error("spawn /home/someone/bin/docs ENOENT");
    const failing = async () => server.client(never).catch((error: Error) => error.message);
    expect(await failing()).toBe("the MCP server docs is not available: it could not be started");
    expect(await failing()).toContain("the next attempt is possible in 1 s");
    expect(server.isAvailable).toBe(false);
    expect(fake.connections).toHaveLength(1);
    now = 1_000;
    await failing();
    now = 2_500; // the second wait is twice as long
    expect(await failing()).toContain("possible in 1 s");
    now = 3_000;
    fake.failure = undefined;
    await server.client(never);
    expect(server.isAvailable).toBe(true);
  });

  test("leaves a caller that gives up while it starts, and goes on starting", async () => {
    const fake = new FakeServer();
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const connect = async (given: unknown, options: ConnectOptions) => {
      await gate;
      return fake.connect(given, options);
    };
    await using server = new UpstreamServer(config, { connect, logger: silentLogger });
    const ending = new AbortController();
    const waiting = server.client(ending.signal);
    ending.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    go();
    await server.settled();
    expect(server.tools).toHaveLength(1);
  });

  test("answers a flood of announcements with one new list", async () => {
    const fake = new FakeServer();
    await using server = new UpstreamServer(config, { connect: fake.connect, logger: silentLogger });
    await server.client(never);
    fake.tools = [tool("search"), tool("read")];
    for (let count = 0; count < 10_000; count++) fake.connections[0]?.onToolsChanged();
    await expect.poll(() => server.tools.length, { timeout: 5_000 }).toBe(2);
    expect(fake.lists).toBe(2);
  });

  test("is closed also if it was still starting, and starts no more", async () => {
    const fake = new FakeServer();
    const server = new UpstreamServer(config, { connect: fake.connect, logger: silentLogger });
    server.start();
    await server[Symbol.asyncDispose]();
    expect(fake.closed).toBe(1);
    await expect(server.client(never)).rejects.toThrow("codecell is shutting down");
    expect(fake.connections).toHaveLength(1);
  });
});
