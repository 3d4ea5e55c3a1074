import { expect, test, vi } from "vitest";
import { FakeCgroups } from "../../../../test/support/fake-cgroups.ts";
import { createCellCgroup } from "./cell-cgroup.ts";
import type { CgroupController } from "./cgroup.ts";

const limits = { memoryBytes: 1000, socketBytes: 250, pids: 64, cpus: 1.5 };
const controllers: ReadonlySet<CgroupController> = new Set(["memory", "pids", "cpu"]);
const unified = { kind: "v2", dir: "/cg", controllers } as const;
const separate = {
  kind: "v1",
  dirs: { memory: "/m", pids: "/p", cpu: "/c", cpuacct: "/a" },
  limitsSockets: false,
} as const;
const unifiedFiles = ["memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max", "cgroup.kill"];
const separateFiles = ["memory.limit_in_bytes", "pids.max", "cpu.cfs_period_us", "cpu.cfs_quota_us"];

test("creating a v2 cgroup sets every limit", async () => {
  const files = new FakeCgroups(unifiedFiles);
  await createCellCgroup(unified, "tag-1", limits, { files });
  expect(files.log).toEqual([
    "mkdir /cg/tag-1",
    "/cg/tag-1/memory.max = 1000",
    "/cg/tag-1/memory.swap.max = 0",
    "/cg/tag-1/memory.oom.group = 0",
    "/cg/tag-1/pids.max = 64",
    "/cg/tag-1/cpu.max = 150000 100000",
  ]);
});

test("a process moves itself into a v2 cgroup if it has the host's uid, and is moved by the host otherwise", async () => {
  const files = new FakeCgroups(unifiedFiles);
  const own = await createCellCgroup(unified, "tag-1", limits, { files });
  expect(own.placement).toEqual([{ controller: "unified", path: "/cg/tag-1", file: "cgroup.procs" }]);
  const foreign = await createCellCgroup(unified, "tag-2", limits, { files, ownerUid: 500_000 });
  expect(foreign.placement).toEqual([]);
  await foreign.place(77);
  expect(files.contents.get("/cg/tag-2/cgroup.procs")).toBe("77\n");
});

test("disposing a v2 cgroup kills its processes with one write and removes it", async () => {
  const files = new FakeCgroups(unifiedFiles);
  const cgroup = await createCellCgroup(unified, "tag-1", limits, { files });
  await cgroup[Symbol.asyncDispose]();
  await cgroup[Symbol.asyncDispose]();
  expect(files.log.slice(-2)).toEqual(["/cg/tag-1/cgroup.kill = 1", "rmdir /cg/tag-1"]);
});

test("the usage of a v2 cgroup is read from its files", async () => {
  const files = new FakeCgroups(unifiedFiles);
  const cgroup = await createCellCgroup(unified, "tag-1", limits, { files });
  expect(await cgroup.usage()).toEqual({
    memoryBytes: undefined,
    peakMemoryBytes: undefined,
    cpuMs: undefined,
    oomKills: 0,
  });
  files.contents.set("/cg/tag-1/memory.current", "123\n");
  files.contents.set("/cg/tag-1/memory.peak", "456\n");
  files.contents.set("/cg/tag-1/cpu.stat", "usage_usec 2500\nuser_usec 1\n");
  files.contents.set("/cg/tag-1/memory.events", "oom 9\noom_kill 2\noom_group_kill 0\n");
  files.contents.set("/cg/tag-1/pids.current", "7\n");
  const used = { memoryBytes: 123, peakMemoryBytes: 456, cpuMs: 2.5, processes: 7, oomKills: 2 };
  expect(await cgroup.usage()).toEqual(used);
});

test("creating v1 cgroups sets the limits and gives their task files to the cell's uid", async () => {
  const files = new FakeCgroups([...separateFiles, "memory.memsw.limit_in_bytes", "memory.swappiness"]);
  const cgroup = await createCellCgroup(separate, "tag-1", limits, { files, ownerUid: 500_000 });
  expect(files.log.filter((line) => line.includes(" = "))).toEqual([
    "/m/tag-1/memory.limit_in_bytes = 1000",
    "/m/tag-1/memory.memsw.limit_in_bytes = 1000",
    "/m/tag-1/memory.swappiness = 0",
    "/p/tag-1/pids.max = 64",
    "/c/tag-1/cpu.cfs_period_us = 100000",
    "/c/tag-1/cpu.cfs_quota_us = 150000",
  ]);
  expect(cgroup.placement.map(({ path, file }) => `${path}/${file}`)).toEqual(
    ["/m", "/p", "/c", "/a"].map((d) => `${d}/tag-1/tasks`),
  );
  expect([...files.owners]).toEqual(["/m", "/p", "/c", "/a"].map((d) => [`${d}/tag-1/tasks`, 500_000]));
});

test("a v1 cgroup limits the buffers of sockets where the Linux kernel can", async () => {
  const files = new FakeCgroups([...separateFiles, "memory.kmem.tcp.limit_in_bytes"]);
  await createCellCgroup({ ...separate, limitsSockets: true }, "tag-1", limits, { files });
  expect(files.contents.get("/m/tag-1/memory.kmem.tcp.limit_in_bytes")).toBe("250");
});

test("creating a cgroup fails if its limit on the buffers of sockets cannot be set", async () => {
  const files = new FakeCgroups([...separateFiles, "memory.kmem.tcp.limit_in_bytes"]);
  files.fail("/m/tag-1/memory.kmem.tcp.limit_in_bytes", "EACCES");
  const limited = { ...separate, limitsSockets: true };
  await expect(createCellCgroup(limited, "tag-1", limits, { files })).rejects.toThrow("EACCES");
  expect(files.contents.size).toBe(0);
});

test("a cgroup can be created without swap accounting", async () => {
  const files = new FakeCgroups(separateFiles);
  await expect(createCellCgroup(separate, "tag-1", limits, { files })).resolves.toBeDefined();
});

test("creating a cgroup fails and leaves nothing behind if the swap limit exists but cannot be set", async () => {
  const files = new FakeCgroups([...separateFiles, "memory.memsw.limit_in_bytes"]);
  files.fail("/m/tag-1/memory.memsw.limit_in_bytes", "EACCES");
  await expect(createCellCgroup(separate, "tag-1", limits, { files })).rejects.toThrow("EACCES");
  expect(files.contents.size).toBe(0);
});

test("the usage of v1 cgroups is read from their files", async () => {
  const files = new FakeCgroups(separateFiles);
  const cgroup = await createCellCgroup(separate, "tag-1", limits, { files });
  files.contents.set("/m/tag-1/memory.usage_in_bytes", "10\n");
  files.contents.set("/m/tag-1/memory.max_usage_in_bytes", "20\n");
  files.contents.set("/a/tag-1/cpuacct.usage", "3000000\n");
  files.contents.set("/m/tag-1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  expect(await cgroup.usage()).toEqual({ memoryBytes: 10, peakMemoryBytes: 20, cpuMs: 3, oomKills: 4 });
});

test("removing a cgroup is retried while it is busy, and a missing one counts as removed", async () => {
  const files = new FakeCgroups(separateFiles);
  const cgroup = await createCellCgroup(separate, "tag-1", limits, { files });
  files.fail("/p/tag-1", "EBUSY", 3);
  await files.rmdir("/m/tag-1");
  await cgroup[Symbol.asyncDispose]();
  expect(files.contents.size).toBe(0);
});

test("killing a cgroup never signals codecell, init or codecell's process group", async () => {
  const files = new FakeCgroups(separateFiles);
  const cgroup = await createCellCgroup(separate, "tag-1", limits, { files });
  files.contents.set("/m/tag-1/cgroup.procs", `0\n1\n${process.pid}\n`);
  const signals = vi.spyOn(process, "kill").mockReturnValue(true);
  try {
    await cgroup.kill();
    expect(signals).not.toHaveBeenCalled();
  } finally {
    signals.mockRestore();
  }
});

test("killAllBut kills the other processes of a cgroup once and spares the given one", async () => {
  const files = new FakeCgroups(separateFiles);
  const cgroup = await createCellCgroup(separate, "tag-1", limits, { files });
  files.contents.set("/m/tag-1/cgroup.procs", `0\n1\n${process.pid}\n7001\n7002\n`);
  const signals = vi.spyOn(process, "kill").mockReturnValue(true);
  try {
    await cgroup.killAllBut(7001);
    expect(signals.mock.calls).toEqual([[7002, "SIGKILL"]]);
  } finally {
    signals.mockRestore();
  }
});

test("a cgroup name that leads out of the tree is rejected", async () => {
  for (const name of ["..", "a/b", "", "-x", "A"]) {
    await expect(createCellCgroup(unified, name, limits, { files: new FakeCgroups([]) })).rejects.toThrow(
      "not a cgroup name",
    );
  }
});
