import { expect, test } from "vitest";
import { FakeCgroups } from "../../../../test/support/fake-cgroups.ts";
import { cgroupHolds, detectCgroups } from "./cgroup.ts";

const pid = 4321;
const options = (files: FakeCgroups) => ({ files, pid, procSelf: "/p", trialName: "trial", isRoot: false });
const unifiedFiles = ["memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max", "cgroup.kill"];

test("cgroup v2 is used if the controllers are on, and the trial group is removed", async () => {
  const files = unifiedTree({ enabled: "memory pids cpu", members: "" });
  const support = await detectCgroups(options(files));
  expect(support).toEqual({ kind: "v2", dir: "/cg/own", controllers: new Set(["memory", "pids", "cpu"]) });
  expect(files.log.at(0)).toBe("mkdir /cg/own/trial");
  expect(files.log.at(-1)).toBe("rmdir /cg/own/trial");
});

test("codecell moves itself into a leaf if it is the only process in a delegated cgroup", async () => {
  const files = unifiedTree({ enabled: "", members: `${pid}\n` });
  expect(await detectCgroups(options(files))).toMatchObject({ kind: "v2", dir: "/cg/own" });
  expect(files.contents.get("/cg/own/codecell-host/cgroup.procs")).toBe(`${pid}\n`);
  expect(files.contents.get("/cg/own/cgroup.subtree_control")).toBe("memory pids cpu");
});

test("no process is moved if others share the cgroup, and the reason names the fix", async () => {
  const files = unifiedTree({ enabled: "", members: `1\n${pid}\n` });
  const support = await detectCgroups(options(files));
  expect(support).toMatchObject({
    kind: "none",
    reason: expect.stringContaining("systemd-run --user --scope -p Delegate=yes"),
  });
  expect(files.log).toEqual([]);
});

test("the fix for root names the system's own service manager", async () => {
  const files = unifiedTree({ enabled: "", members: `1\n${pid}\n` });
  const support = await detectCgroups({ ...options(files), isRoot: true });
  expect(support).toMatchObject({ reason: expect.stringContaining("`systemd-run --scope -p Delegate=yes`") });
});

test("a cgroup that another user owns is not used, and the reason names the fix", async () => {
  const files = unifiedTree({ enabled: "", members: "" });
  files.fail("/cg/own/cgroup.subtree_control", "EACCES");
  expect(await detectCgroups(options(files))).toMatchObject({
    kind: "none",
    reason: expect.stringContaining("delegated"),
  });
});

test("the parent cgroup is used if codecell was started in the leaf of another codecell", async () => {
  const files = unifiedTree({ enabled: "memory pids", members: "" });
  files.contents.set("/p/cgroup", "0::/own/codecell-host\n");
  expect(await detectCgroups(options(files))).toMatchObject({ kind: "v2", dir: "/cg/own" });
});

test("cgroup v2 is used without the cpu controller if only memory and pids are delegated", async () => {
  const files = unifiedTree({ enabled: "", members: "" });
  files.contents.set("/cg/own/cgroup.controllers", "memory pids\n");
  const support = await detectCgroups(options(files));
  expect([cgroupHolds(support, "memory"), cgroupHolds(support, "cpu")]).toEqual([true, false]);
});

test("cgroup v1 is used if the unified tree has no controllers", async () => {
  const files = separateTree();
  files.contents.set("/p/cgroup", `${await files.read("/p/cgroup")}0::/\n`);
  files.contents.set(
    "/p/mountinfo",
    `${await files.read("/p/mountinfo")}1 2 0:9 / /cg/unified rw - cgroup2 cgroup2 rw\n`,
  );
  files.contents.set("/cg/unified/cgroup.controllers", "\n");
  expect(await detectCgroups(options(files))).toEqual({
    kind: "v1",
    dirs: { memory: "/cg/memory/m", pids: "/cg/pids", cpu: "/cg/cpu", cpuacct: "/cg/cpuacct" },
    limitsSockets: false,
  });
});

test("cgroups are not used if the tree is read-only, and the reason has the OS error", async () => {
  const files = separateTree();
  files.fail("/cg/pids/trial", "EROFS");
  expect(await detectCgroups(options(files))).toMatchObject({ kind: "none", reason: expect.stringContaining("EROFS") });
  expect(files.log.at(-1)).toBe("rmdir /cg/memory/m/trial");
});

test("cgroups are not used if a limit cannot be set, and the trial group is removed", async () => {
  const files = separateTree();
  files.fail("/cg/memory/m/trial/memory.limit_in_bytes", "EINVAL");
  expect(await detectCgroups(options(files))).toMatchObject({
    kind: "none",
    reason: expect.stringContaining("EINVAL"),
  });
  expect([...files.contents.keys()].filter((path) => path.includes("trial"))).toEqual([]);
});

test("cgroups are not used if no controller is mounted", async () => {
  const files = new FakeCgroups([]);
  files.contents.set("/p/cgroup", "0::/\n");
  files.contents.set("/p/mountinfo", "\n");
  expect(await detectCgroups(options(files))).toMatchObject({
    kind: "none",
    reason: expect.stringContaining("not mounted"),
  });
});

function unifiedTree(own: { enabled: string; members: string }): FakeCgroups {
  const files = new FakeCgroups(unifiedFiles);
  files.contents.set("/p/cgroup", "0::/own\n");
  files.contents.set("/p/mountinfo", "1 2 0:9 / /cg rw - cgroup2 cgroup2 rw,nsdelegate\n");
  files.contents.set("/cg/own/cgroup.controllers", "cpuset cpu io memory pids\n");
  files.contents.set("/cg/own/cgroup.subtree_control", own.enabled);
  files.contents.set("/cg/own/cgroup.procs", own.members);
  return files;
}

function separateTree(): FakeCgroups {
  const files = new FakeCgroups(["memory.limit_in_bytes", "pids.max", "cpu.cfs_period_us", "cpu.cfs_quota_us"]);
  const controllers = ["memory", "pids", "cpu", "cpuacct"];
  const path = (controller: string) => (controller === "memory" ? "/m" : "/");
  files.contents.set("/p/cgroup", controllers.map((name, index) => `${index}:${name}:${path(name)}\n`).join(""));
  files.contents.set(
    "/p/mountinfo",
    controllers.map((name) => `1 2 0:9 / /cg/${name} rw - cgroup cgroup rw,${name}\n`).join(""),
  );
  return files;
}
