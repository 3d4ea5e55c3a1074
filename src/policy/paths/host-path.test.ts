import { describe, expect, test } from "vitest";
import { targetConflict, targetProblem } from "./cell-path.ts";
import { refusedPlace, resolveHostPath } from "./host-path.ts";

describe("the host path", () => {
  const context = { baseDir: "/srv/project", homeDir: "/home/someone" };

  test.each([
    ["work", "/srv/project/work"],
    ["./a/../b/", "/srv/project/b"],
    ["/data//x/./y", "/data/x/y"],
    ["~/data", "/home/someone/data"],
  ])("%s resolves to %s", (written, path) => expect(resolveHostPath(written, context)).toEqual({ path }));

  test.each(["a\0b", "a\nb", "  ", "~other/data", "\u001b[2J"])("%j is refused", (written) => {
    expect(resolveHostPath(written, context)).toHaveProperty("problem");
  });

  test("a relative path needs a base directory", () => {
    expect(resolveHostPath("work", {})).toEqual({ problem: "expected an absolute path" });
    expect(resolveHostPath("~/work", {})).toHaveProperty("problem");
  });

  test.each([
    ...["/", "/etc", "/etc/ssl", "/proc", "/proc/1/root", "/sys/fs", "/dev", "/dev/shm", "/run", "/run/docker.sock"],
    ...["/var/run", "/var/run/docker.sock", "/var", "/var/lib", "/var/lib/docker", "/root", "/home", "/home/someone"],
    ...[
      "/home/other",
      "/Users/other",
      "/usr",
      "/tmp",
      "/srv/docker.sock",
      "/mnt",
      "/mnt/c",
      "/mnt/c/Users/me",
      "/boot",
    ],
  ])("%s is never mounted in a cell", (path) => {
    expect(refusedPlace(path, { writable: false, homeDir: "/home/someone" })).toBeTypeOf("string");
  });

  test.each([
    "/srv/project",
    "/home/someone/project",
    "/root/project",
    "/tmp/x",
    "/var/data",
    "/usr/share/dict",
    "/etcetera",
  ])("%s may be mounted read-only", (path) =>
    expect(refusedPlace(path, { writable: false, homeDir: "/home/someone" })).toBeUndefined(),
  );

  test("a directory that the host runs programs from is never mounted writable", () => {
    expect(refusedPlace("/usr/local/share", { writable: true })).toMatch(/read-only/);
  });

  test("a directory that contains the home directory is refused, wherever that is", () => {
    expect(refusedPlace("/srv", { writable: false, homeDir: "/srv/homes/me" })).toMatch(/contains/);
  });
});

describe("the mount target", () => {
  test.each(["/data", "/data/", "/workspace/data", "/mnt/x", "/models/a b"])("%s is allowed", (target) => {
    expect(targetProblem(target)).toBeUndefined();
  });

  test.each([
    ...[
      "data",
      "./data",
      "",
      "/",
      "//",
      "/usr",
      "/usr/lib/python3",
      "/bin",
      "/lib64",
      "/lib/x",
      "/proc/self",
      "/sys",
      "/dev/shm",
    ],
    ...[
      "/etc/passwd",
      "/run",
      "/tmp",
      "/tmp/x",
      "/workspace",
      "/workspace/",
      "/deps",
      "/deps/x",
      "/.kernel",
      "/.kernel/x",
    ],
    ...["/data/../etc", "/./data", "/a\0b"],
  ])("%j is refused", (target) => expect(targetProblem(target)).toBeTypeOf("string"));

  test("conflicts with an overlapping one, but not with a similar name", () => {
    expect(targetConflict("/data", ["/data/"])).toBe("/data/");
    expect(targetConflict("/data/x", ["/data"])).toBe("/data");
    expect(targetConflict("/data", ["/data/x"])).toBe("/data/x");
    expect(targetConflict("/data2", ["/data"])).toBeUndefined();
  });
});
