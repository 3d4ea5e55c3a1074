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
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-engine-"));
    server = createServer((_, answer) => answer.end(JSON.stringify(info)));
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

  test("is believed", async () => {
    info = { ...able, SwapLimit: false, CgroupVersion: "1" };
    expect(await limits()).toEqual({ memory: true, swap: false, pids: true, cpus: true });
  });

  test.runIf(process.platform === "linux")(
    "is taken to be in another machine when its kernel is another one",
    async () => {
      info = { ...able, KernelVersion: release() };
      expect((await asked()).isLocal).toBe(true);
      info = { ...able, KernelVersion: "6.10.14-linuxkit" };
      expect((await asked()).isLocal).toBe(false);
    },
  );

  test("is not believed about the first cgroups when an ordinary user runs it", async () => {
    const rootless = { docker: { SecurityOptions: ["name=seccomp", "name=rootless"] }, podman: { Rootless: true } };
    for (const said of Object.values(rootless)) {
      info = { ...able, CgroupVersion: "1", ...said };
      expect(await limits()).toEqual({ memory: false, swap: false, pids: false, cpus: false });
      info = { ...able, CgroupVersion: "2", ...said };
      expect(await limits()).toEqual({ memory: true, swap: true, pids: true, cpus: true });
    }
  });
});
