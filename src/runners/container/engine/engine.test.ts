import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { askEngine } from "./engine.ts";
import { parseEngineAddress } from "./engine-address.ts";

describe("an engine that is asked what it can hold", () => {
  let directory: string;
  let server: Server;
  let info: object;
  let versions: object;
  let heard: string[];
  let takes: (url: string) => boolean;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-engine-"));
    heard = [];
    takes = () => true;
    server = createServer(({ url = "" }, answer) => {
      heard.push(url);
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

  async function asked() {
    const address = parseEngineAddress("podman", `unix://${directory}/engine.sock`, "the test");
    if (!address) throw new Error("not an address");
    return await askEngine(address);
  }
  const limits = async () => (await asked()).limits;

  const able = { MemoryLimit: true, SwapLimit: true, PidsLimit: true, CpuCfsQuota: true };

  test("is asked again in its oldest version when ours is too old for it", async () => {
    info = able;
    versions = { ApiVersion: "1.52", MinAPIVersion: "1.44" };
    takes = (url) => url.startsWith("/v1.44/");
    const { client } = await asked();
    expect(heard).toEqual(["/v1.41/info", "/version", "/v1.44/info"]);
    await client.json({ path: "/containers/json" });
    expect(heard.at(-1)).toBe("/v1.44/containers/json");
  });

  test("an engine without an API version that codecell speaks is reported as such", async () => {
    takes = () => false;
    for (versions of [{}, { MinAPIVersion: "1.44/../../v1.41" }])
      await expect(asked()).rejects.toMatchObject({
        code: "runner_unavailable",
        message: expect.stringContaining("which versions"),
      });
  });

  test("has no filter of its own where it leaves system calls unconfined, and says whether it labels files", async () => {
    const elsewhere = { ...able, KernelVersion: "6.10.14-linuxkit" };
    info = { ...elsewhere, SecurityOptions: ["name=seccomp,profile=builtin"] };
    expect((await asked()).seccomp).toBe(true);
    expect((await asked()).labelsFiles).toBe(false);
    info = { ...elsewhere, SecurityOptions: ["name=seccomp,profile=unconfined", "name=selinux"] };
    expect((await asked()).labelsFiles).toBe(true);
    expect((await asked()).seccomp).toBe(false);
  });

  test("is believed", async () => {
    info = { ...able, SwapLimit: false, CgroupVersion: "1" };
    expect(await limits()).toEqual({ memory: true, swap: false, pids: true, cpus: true });
  });

  test.runIf(process.platform === "linux")(
    "is taken to be in another machine when its OS kernel is another one",
    async () => {
      info = { ...able, KernelVersion: release() };
      expect((await asked()).isLocal).toBe(true);
      info = { ...able, KernelVersion: "6.10.14-linuxkit" };
      expect((await asked()).isLocal).toBe(false);
    },
  );

  test("a rootless engine's claims about cgroup v1 are not believed", async () => {
    const rootless = { docker: { SecurityOptions: ["name=seccomp", "name=rootless"] }, podman: { Rootless: true } };
    for (const said of Object.values(rootless)) {
      info = { ...able, CgroupVersion: "1", ...said };
      expect(await limits()).toEqual({ memory: false, swap: false, pids: false, cpus: false });
      info = { ...able, CgroupVersion: "2", ...said };
      expect(await limits()).toEqual({ memory: true, swap: true, pids: true, cpus: true });
    }
  });
});
