import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseEngineAddress } from "./engine-address.ts";
import { EngineClient, EngineRefusal } from "./engine-client.ts";

describe("EngineClient", () => {
  let directory: string;
  let server: Server | undefined;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-client-"));
  });
  afterEach(async () => {
    server?.closeAllConnections();
    server?.close();
    await rm(directory, { recursive: true, force: true });
  });
  const clientOf = async (answers: RequestListener): Promise<EngineClient> => {
    const socketPath = join(directory, "engine.sock");
    server = createServer(answers).listen(socketPath);
    await once(server, "listening");
    const address = parseEngineAddress("docker", `unix://${socketPath}`, "the test");
    if (!address) throw new Error("not an address");
    return new EngineClient(address);
  };
  const request = { path: "/containers/x/attach", timeoutMs: 100 };
  const asks = {
    bytes: (client: EngineClient) => client.bytes(request),
    stream: (client: EngineClient) => client.stream(request),
    hijack: (client: EngineClient) => client.hijack(request),
  };
  const ways = Object.keys(asks) as (keyof typeof asks)[];

  test.each(ways)("times out if the engine stalls in the middle of a refusal (%s)", async (way) => {
    const client = await clientOf((_, answer) => answer.writeHead(500).write('{"message": "I would'));
    await expect(asks[way](client)).rejects.toMatchObject({
      code: "runner_unavailable",
      message: "Docker did not answer GET /containers/x/attach in 100 ms",
    });
  });

  test.each(ways)("times out if the engine does not answer at all (%s)", async (way) => {
    const client = await clientOf(() => {});
    await expect(asks[way](client)).rejects.toMatchObject({ code: "runner_unavailable" });
  });

  test("times out if the engine answers instead of upgrading the connection", async () => {
    const client = await clientOf((_, answer) => answer.writeHead(200).write("a stream of the old kind"));
    await expect(client.hijack(request)).rejects.toMatchObject({ code: "runner_unavailable" });
  });

  test.each(ways)("reports the engine's reason for a refusal, not a timeout (%s)", async (way) => {
    const client = await clientOf((_, answer) => answer.writeHead(409).end('{"message": "it is paused"}'));
    const refused = await asks[way](client).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(EngineRefusal);
    expect(refused).toMatchObject({ status: 409, message: "it is paused" });
  });

  test.each(ways)("reports an aborted request as aborted, not as a timeout (%s)", async (way) => {
    const giveUp = new AbortController();
    const client = await clientOf((_, answer) => {
      answer.writeHead(500).write("{");
      giveUp.abort();
    });
    const limits = { ...request, timeoutMs: 10_000, signal: giveUp.signal };
    await expect(client[way](limits)).rejects.toMatchObject({ code: "aborted" });
  });
});
