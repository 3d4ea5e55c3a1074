import { describe, expect, test } from "vitest";
import { parseGroups } from "./cell-usage.ts";

const id = "3ab832832dae";

describe("the cgroups of a container", () => {
  test("are one directory in cgroup v2", () => {
    const groups = parseGroups([`0::/system.slice/docker-${id}.scope`], "/sys/fs/cgroup");
    expect(groups.isUnified).toBe(true);
    expect(groups.directory("memory")).toBe(`/sys/fs/cgroup/system.slice/docker-${id}.scope`);
  });

  test("are one directory per controller in cgroup v1, also for controllers that share a hierarchy", () => {
    const lines = [`4:memory:/docker/${id}`, `3:cpu,cpuacct:/docker/${id}`, "1:name=systemd:/", `0::/docker/${id}`];
    const groups = parseGroups(lines, "/cg");
    expect(groups.isUnified).toBe(false);
    expect(groups.directory("memory")).toBe(`/cg/memory/docker/${id}`);
    expect(groups.directory("cpuacct")).toBe(`/cg/cpuacct/docker/${id}`);
    expect(groups.directory("pids")).toBeUndefined();
  });

  test("may have names with colons", () => {
    expect(parseGroups(["0::/a:b"], "/cg").directory("")).toBe("/cg/a:b");
  });

  test("are ignored if they are outside the mounted hierarchy", () => {
    expect(parseGroups(["0::/../../etc"], "/cg").directory("")).toBeUndefined();
    expect(parseGroups(["4:memory:/.."], "/cg").directory("memory")).toBeUndefined();
  });

  test("are ignored if their line cannot be parsed", () => {
    expect(parseGroups(["nonsense", ""], "/cg").directory("memory")).toBeUndefined();
  });
});
