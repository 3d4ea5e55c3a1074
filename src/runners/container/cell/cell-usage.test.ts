import { describe, expect, test } from "vitest";
import { parseGroups } from "./cell-usage.ts";

const id = "3ab832832dae";

describe("the control groups of a container", () => {
  test("are one directory in the unified hierarchy", () => {
    const groups = parseGroups([`0::/system.slice/docker-${id}.scope`], "/sys/fs/cgroup");
    expect(groups.isUnified).toBe(true);
    expect(groups.directory("memory")).toBe(`/sys/fs/cgroup/system.slice/docker-${id}.scope`);
  });

  test("are one directory for each controller before that, also of those that share one", () => {
    const lines = [`4:memory:/docker/${id}`, `3:cpu,cpuacct:/docker/${id}`, "1:name=systemd:/", `0::/docker/${id}`];
    const groups = parseGroups(lines, "/cg");
    expect(groups.isUnified).toBe(false);
    expect(groups.directory("memory")).toBe(`/cg/memory/docker/${id}`);
    expect(groups.directory("cpuacct")).toBe(`/cg/cpuacct/docker/${id}`);
    expect(groups.directory("pids")).toBeUndefined();
  });

  test("may have colons in their names", () => {
    expect(parseGroups(["0::/a:b"], "/cg").directory("")).toBe("/cg/a:b");
  });

  test("outside of the mounted hierarchy are nobody's", () => {
    expect(parseGroups(["0::/../../etc"], "/cg").directory("")).toBeUndefined();
    expect(parseGroups(["4:memory:/.."], "/cg").directory("memory")).toBeUndefined();
  });

  test("usage figures that cannot be read are left out", () => {
    expect(parseGroups(["nonsense", ""], "/cg").directory("memory")).toBeUndefined();
  });
});
