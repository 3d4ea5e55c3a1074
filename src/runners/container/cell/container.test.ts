import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { silentLogger } from "../../../lib/log/logger.ts";
import { parseEngineAddress } from "../engine/engine-address.ts";
import { EngineClient } from "../engine/engine-client.ts";
import { startContainer } from "./container.ts";
import { Removals } from "./removals.ts";

describe("an engine that makes a container", () => {
  let directory: string;
  let server: Server;
  let client: EngineClient;
  let removals: Removals;
  let answerToCreate: string;
  const asked: string[] = [];
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-container-"));
    asked.length = 0;
    server = createServer(({ method, url = "" }, answer) => {
      asked.push(`${method} ${url.replace(/^\/v[\d.]+/, "").replace(/\?.*/, "")}`);
      if (url.includes("/create")) answer.writeHead(201).end(answerToCreate);
      else answer.writeHead(404).end("{}");
    });
    server.listen(join(directory, "engine.sock"));
    await once(server, "listening");
    const address = parseEngineAddress("docker", `unix://${directory}/engine.sock`, "the test");
    if (!address) throw new Error("not an address");
    client = new EngineClient(address);
    removals = new Removals(silentLogger, 10);
  });
  afterEach(async () => {
    await removals[Symbol.asyncDispose]();
    server.close();
    await rm(directory, { recursive: true, force: true });
  });

  test.each(["", "{}", "[]", '{"Id": 7}', '{"Id": ""}', '{"Id": "../images/x"}'])(
    "and does not say which is asked to remove it by its name: %j",
    async (answer) => {
      answerToCreate = answer;
      const starting = startContainer({ client, spec: {}, name: "codecell-1", removals });
      await expect(starting).rejects.toMatchObject({ code: "runner_unavailable" });
      await vi.waitFor(() => expect(asked).toContain("DELETE /containers/codecell-1"));
      expect(asked.filter((request) => /undefined|images/.test(request))).toEqual([]);
    },
  );

  test.each([
    "Resource limits are not supported and ignored on cgroups V1 rootless systems",
    "Your kernel does not support pids limit capabilities or the cgroup is not mounted. PIDs limit discarded.",
  ])("an engine that ignored a requested option is asked to remove the container: %s", async (warning) => {
    answerToCreate = JSON.stringify({ Id: "abc", Warnings: ["another", warning] });
    const starting = startContainer({ client, spec: {}, name: "codecell-1", removals });
    const message = expect.stringContaining(warning);
    await expect(starting).rejects.toMatchObject({ code: "cell_start_failed", message });
    expect(asked).toEqual(["POST /containers/create", "DELETE /containers/abc"]);
  });

  test("an engine that creates the container but refuses to attach is asked to remove it", async () => {
    answerToCreate = '{"Id": "abc"}';
    const starting = startContainer({ client, spec: {}, name: "codecell-1", removals });
    await expect(starting).rejects.toMatchObject({ code: "cell_start_failed" });
    expect(asked).toContain("DELETE /containers/abc");
  });
});
