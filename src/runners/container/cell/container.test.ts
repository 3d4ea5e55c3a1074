import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../../lib/log/logger.ts";
import { parseEngineAddress } from "../engine/engine-address.ts";
import { EngineClient } from "../engine/engine-client.ts";
import { startContainer } from "./container.ts";
import { Removals } from "./removals.ts";

describe("startContainer", () => {
  let directory: string;
  let server: Server;
  let client: EngineClient;
  let removals: Removals;
  let answerToCreate: string;
  const requests: string[] = [];
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-container-"));
    requests.length = 0;
    server = createServer(({ method, url = "" }, answer) => {
      requests.push(`${method} ${url.replace(/^\/v[\d.]+/, "").replace(/\?.*/, "")}`);
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
    "removes the container by its name if the engine does not return a valid id: %j",
    async (answer) => {
      answerToCreate = answer;
      const starting = startContainer({ client, spec: {}, name: "codecell-1", removals });
      await expect(starting).rejects.toMatchObject({ code: "runner_unavailable" });
      await expect.poll(() => requests).toContain("DELETE /containers/codecell-1");
      expect(requests.filter((request) => /undefined|images/.test(request))).toEqual([]);
    },
  );

  test.each([
    "Resource limits are not supported and ignored on cgroups V1 rootless systems",
    "Your kernel does not support pids limit capabilities or the cgroup is not mounted. PIDs limit discarded.",
  ])("removes the container if the engine ignored a requested option: %s", async (warning) => {
    answerToCreate = JSON.stringify({ Id: "abc", Warnings: ["another", warning] });
    const starting = startContainer({ client, spec: {}, name: "codecell-1", removals });
    const message = expect.stringContaining(warning);
    await expect(starting).rejects.toMatchObject({ code: "cell_start_failed", message });
    expect(requests).toEqual(["POST /containers/create", "DELETE /containers/abc"]);
  });

  test("removes the container if the engine refuses to attach", async () => {
    answerToCreate = '{"Id": "abc"}';
    const starting = startContainer({ client, spec: {}, name: "codecell-1", removals });
    await expect(starting).rejects.toMatchObject({ code: "cell_start_failed" });
    expect(requests).toContain("DELETE /containers/abc");
  });
});
