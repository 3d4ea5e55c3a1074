import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { askEngine, findEngine } from "./engine.ts";
import { parseEngineAddress } from "./engine-address.ts";

describe("askEngine", () => {
  let directory: string;
  let server: Server;
  let info: object;
  let versions: object;
  let requests: string[];
  let takes: (url: string) => boolean;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-engine-"));
    requests = [];
    takes = () => true;
    server = createServer(({ url = "" }, answer) => {
      requests.push(url);
      if (url === "/version") return answer.end(JSON.stringify(versions));
      if (!takes(url)) answer.statusCode = 400;
      return answer.end(JSON.stringify(takes(url) ? info : { message: "client version 1.41 is too old" }));
    });
    server.listen(join(directory, "engine.sock"));
    await once(server, "listening");
  });
  afterEach(async () => {
    server.close();
    await rm(directory, { recursive: true, force: true });
  });

  async function ask(kind: "docker" | "podman" = "podman") {
    const address = parseEngineAddress(kind, `unix://${directory}/engine.sock`, "the test");
    if (!address) throw new Error("not an address");
    return await askEngine(address);
  }
  const limits = async () => (await ask()).limits;

  const able = { MemoryLimit: true, SwapLimit: true, PidsLimit: true, CpuCfsQuota: true };

  test("uses the engine's oldest API version if codecell's is too old for it", async () => {
    info = able;
    versions = { ApiVersion: "1.52", MinAPIVersion: "1.44" };
    takes = (url) => url.startsWith("/v1.44/");
    const { client } = await ask();
    expect(requests).toEqual(["/v1.41/info", "/version", "/v1.44/info"]);
    await client.json({ path: "/containers/json" });
    expect(requests.at(-1)).toBe("/v1.44/containers/json");
  });

  test("fails if the engine does not report a valid API version", async () => {
    takes = () => false;
    for (versions of [{}, { MinAPIVersion: "1.44/../../v1.41" }])
      await expect(ask()).rejects.toMatchObject({
        code: "runner_unavailable",
        message: expect.stringContaining("the API versions"),
      });
  });

  test("reports whether the engine filters system calls and labels files", async () => {
    const elsewhere = { ...able, KernelVersion: "6.10.14-linuxkit" };
    info = { ...elsewhere, SecurityOptions: ["name=seccomp,profile=builtin"] };
    expect((await ask()).seccomp).toBe(true);
    expect((await ask()).labelsFiles).toBe(false);
    info = { ...elsewhere, SecurityOptions: ["name=seccomp,profile=unconfined", "name=selinux"] };
    expect((await ask()).labelsFiles).toBe(true);
    expect((await ask()).seccomp).toBe(false);
  });

  test("reports the limits that the engine supports", async () => {
    info = { ...able, SwapLimit: false, CgroupVersion: "1", KernelMemoryTCP: true };
    const both = { memory: true, swap: false, pids: true, cpus: true };
    expect((await ask("docker")).limits).toEqual({ ...both, sockets: true });
    expect(await limits()).toEqual({ ...both, sockets: false }); // Podman ignores the setting
  });

  test.runIf(process.platform === "linux")("treats an engine with another OS kernel as another machine", async () => {
    info = { ...able, KernelVersion: release() };
    expect((await ask()).isLocal).toBe(true);
    info = { ...able, KernelVersion: "6.10.14-linuxkit" };
    expect((await ask()).isLocal).toBe(false);
  });

  test("reports no limits for a rootless engine with cgroup v1, whatever the engine says", async () => {
    const rootless = { docker: { SecurityOptions: ["name=seccomp", "name=rootless"] }, podman: { Rootless: true } };
    for (const reported of Object.values(rootless)) {
      info = { ...able, CgroupVersion: "1", ...reported };
      expect(await limits()).toEqual({ memory: false, swap: false, pids: false, cpus: false, sockets: false });
      info = { ...able, CgroupVersion: "2", ...reported };
      expect(await limits()).toEqual({ memory: true, swap: true, pids: true, cpus: true, sockets: false });
    }
  });
});

describe("findEngine", () => {
  async function hintFor(kind?: "docker" | "podman", hasPodman = false): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), "cc-no-engine-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    if (hasPodman) await writeFile(join(directory, "podman"), "");
    const nowhere = `unix://${directory}/none.sock`;
    const env = { PATH: directory, DOCKER_HOST: nowhere, CONTAINER_HOST: nowhere };
    const found = await findEngine({ env, home: directory, uid: 0, readText: async () => undefined }, kind);
    if (found.available) throw new Error("there is no engine");
    return found.hint;
  }

  test("without an engine, proposes to install Podman only if it is not installed", async () => {
    expect(await hintFor()).toContain("install Podman");
    expect(await hintFor(undefined, true)).toMatch(/use the Podman of this machine with `--runner container`/);
  });

  test("without the requested engine, names that one and its variable", async () => {
    expect(await hintFor("docker")).toMatch(/^start Docker, or set DOCKER_HOST/);
    expect(await hintFor("podman")).toMatch(/^install Podman.*CONTAINER_HOST/);
  });
});
