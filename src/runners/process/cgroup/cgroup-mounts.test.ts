import { expect, test } from "vitest";
import { ownCgroups } from "./cgroup-mounts.ts";

const mount = (root: string, point: string, type: string, options: string) =>
  `35 31 0:32 ${root} ${point} rw,relatime shared:1 - ${type} ${type} ${options}`;

test("ownCgroups finds the directory of each v1 controller, also if two share a mount", () => {
  const own = ownCgroups(
    "5:cpu,cpuacct:/a\n4:memory:/b/c\n1:name=systemd:/\n0::/\n",
    [mount("/", "/cg/cpu,cpuacct", "cgroup", "rw,cpu,cpuacct"), mount("/", "/cg/memory", "cgroup", "rw,memory")].join(
      "\n",
    ),
  );
  expect([...own.byController]).toEqual([
    ["cpu", "/cg/cpu,cpuacct/a"],
    ["cpuacct", "/cg/cpu,cpuacct/a"],
    ["memory", "/cg/memory/b/c"],
  ]);
  expect(own.unified).toBeUndefined();
});

test("ownCgroups finds the directory in the unified tree", () => {
  const own = ownCgroups("0::/user.slice/run-1.scope\n", mount("/", "/sys/fs/cgroup", "cgroup2", "rw,nsdelegate"));
  expect(own.unified).toBe("/sys/fs/cgroup/user.slice/run-1.scope");
});

test("ownCgroups resolves paths relative to the root of a container's partial mount", () => {
  const text = mount("/docker/abc", "/sys/fs/cgroup/memory", "cgroup", "rw,memory");
  expect(ownCgroups("4:memory:/docker/abc/x\n", text).byController.get("memory")).toBe("/sys/fs/cgroup/memory/x");
  expect(ownCgroups("4:memory:/docker/abc\n", text).byController.get("memory")).toBe("/sys/fs/cgroup/memory");
  expect(ownCgroups("4:memory:/docker/abcd\n", text).byController.get("memory")).toBeUndefined();
});

test("ownCgroups returns no directory for a group outside the visible tree", () => {
  expect(ownCgroups("0::/../other\n", mount("/", "/sys/fs/cgroup", "cgroup2", "rw")).unified).toBeUndefined();
});

test("ownCgroups reads escaped mount points and ignores other lines", () => {
  const text = `1 2 3:4 / /proc rw - proc proc rw\nbroken\n${mount("/", "/cg\\040v2", "cgroup2", "rw")}`;
  expect(ownCgroups("0::/a\nbroken\n", text).unified).toBe("/cg v2/a");
});
