import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import type { CellSpec, SandboxRunner } from "../runner.ts";
import { lockLabel } from "./cell/orphans.ts";
import { addressFacts } from "./engine/engine-address.ts";
import { gvisorRunner } from "./runner.ts";

describe("the gvisor runner", () => {
  let directory: string;
  let server: Server;
  let runner: SandboxRunner;
  let runtimes: Record<string, object>;
  let securityOptions: string[];
  let imageStatus: number;
  let orphans: { Id: string; Labels: Record<string, string> }[];
  const requests: string[] = [];
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-runner-"));
    requests.length = 0;
    runtimes = { runc: {}, runsc: {} };
    securityOptions = [];
    imageStatus = 200;
    orphans = [];
    server = createServer(({ method, url = "" }, answer) => {
      requests.push(`${method} ${url.replace(/^\/v[\d.]+/, "").replace(/\?.*/, "")}`);
      if (url.includes("/info"))
        answer.end(JSON.stringify({ Runtimes: runtimes, DefaultRuntime: "runc", SecurityOptions: securityOptions }));
      else if (url.includes("/images/")) answer.writeHead(imageStatus).end(JSON.stringify({ Id: "sha256:1" }));
      else if (url.includes("/containers/json")) answer.end(JSON.stringify(orphans));
      else if (orphans.some(({ Id }) => url.includes(Id)))
        return; // the engine is stuck in a removal
      else answer.writeHead(500).end("{}");
    });
    server.listen(join(directory, "engine.sock"));
    await once(server, "listening");
    const addresses = addressFacts({ DOCKER_HOST: `unix://${directory}/engine.sock` });
    runner = gvisorRunner({ addresses, image: "python:1", runtimeDir: directory });
  });
  afterEach(async () => {
    await runner[Symbol.asyncDispose]?.();
    server.close();
    server.closeAllConnections();
    await rm(directory, { recursive: true, force: true });
  });
  const spec: CellSpec = { id: "cell", policy: parsePolicy({}), policyHash: "ab".repeat(32) };

  test("does not start cells in another runtime if the engine restarts without runsc", async () => {
    expect(await runner.probe()).toMatchObject({ available: true });
    runtimes = { runc: {} };
    const missing = { code: "runner_unavailable", message: "Docker does not have this runtime (it has runc)" };
    await expect(runner.plan(spec.policy)).rejects.toMatchObject(missing);
    await expect(runner.start(spec)).rejects.toMatchObject(missing);
    expect(requests).not.toContain("POST /containers/create");
  });

  test.skipIf(!existsSync("/dev/shm"))(
    "refuses read-only mounts with nested mounts in its plan if the engine is rootless",
    async () => {
      const base = parsePolicy({});
      // No policy file may name /dev, but it has nested mounts on every machine.
      const policy = {
        ...base,
        fs: { ...base.fs, mounts: [{ source: "/dev", target: "/host", mode: "ro" as const }] },
      };
      securityOptions = ["name=rootless"];
      const { refused } = await runner.plan(policy);
      expect(refused.map(({ rule }) => rule)).toContain("fs.mounts");
    },
  );

  test("plans a cell with its own OS kernel and creates a container for it", async () => {
    expect((await runner.plan(spec.policy)).rules.find(({ rule }) => rule === "isolation.minimum")?.how).toContain(
      "an OS kernel of its own",
    );
    await expect(runner.start(spec)).rejects.toMatchObject({ code: "runner_unavailable" });
    expect(requests).toContain("POST /containers/create");
  });

  test("is unavailable for a while after the engine refused to examine an image", async () => {
    expect(await runner.probe()).toMatchObject({ available: true });
    await expect(runner.start(spec)).rejects.toMatchObject({ message: expect.stringContaining("Docker refused") });
    expect(await runner.probe()).toMatchObject({ available: false, reason: expect.stringContaining("Docker refused") });
  });

  test("is unavailable if the engine refuses to list its images", async () => {
    imageStatus = 403;
    await expect(runner.plan(spec.policy)).rejects.toMatchObject({
      code: "runner_unavailable",
      message: expect.stringContaining("Docker refused"),
    });
  });

  test("waits for the removal of orphaned containers neither at a start nor when it is disposed", async () => {
    orphans = [{ Id: "orphan1", Labels: { [lockLabel]: join(directory, "nobody-holds-this") } }];
    await expect(runner.start(spec)).rejects.toMatchObject({ code: "runner_unavailable" });
    expect(requests).toContain("POST /containers/create");
    await vi.waitFor(() => expect(requests).toContain("POST /containers/orphan1/unpause"), { timeout: 10_000 });
    const began = performance.now();
    await runner[Symbol.asyncDispose]?.();
    expect(performance.now() - began).toBeLessThan(10_000); // a removal may take 15 s
  });
});
