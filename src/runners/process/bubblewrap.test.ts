import { describe, expect, test } from "vitest";
import type { DirectPaths, JailPaths, TemplatePaths } from "./bubblewrap.ts";
import { directArguments, stagePath, templateArguments } from "./bubblewrap.ts";

const jail: JailPaths = {
  tag: "abc123",
  hostRoot: {
    links: [{ path: "/bin", target: "usr/bin" }],
    directories: ["/lib"],
    etc: ["/etc/ld.so.cache"],
    certificates: "/etc/pki/ca.pem",
  },
  python: {
    executable: "/home/x/py/bin/python3",
    executableInside: "/opt/python/bin/python3",
    version: [3, 12, 0],
    bytecode: "any",
    mounts: [{ source: "/home/x/py", target: "/opt/python" }],
    path: [],
    libraryPath: "/opt/python/lib",
  },
  identityDirectory: "/state/etc",
  kernelDirectory: "/state/kernel",
  emptyFile: "/state/empty-file",
  emptyDirectory: "/state/empty-directory",
  command: ["/opt/python/bin/python3", "-I"],
};
const template: TemplatePaths = {
  ...jail,
  socketDirectory: "/state/s",
  mounts: [
    { source: "/data/in", target: "/deps", mode: "ro", kind: "directory" },
    { source: "/data/out", target: "/workspace/out", mode: "rw", kind: "directory" },
    { source: "/data/one.csv", target: "/one.csv", mode: "ro", kind: "file" },
  ],
  cgroups: [{ controller: "memory", directory: "/sys/fs/cgroup/memory/own" }],
};
const direct: DirectPaths = {
  ...jail,
  workspace: { kind: "private", sizeBytes: 1000 },
  mounts: [{ source: "/data/in", target: "/deps", mode: "ro", kind: "directory" }],
  denied: [
    { path: "/deps/.env", kind: "file" },
    { path: "/deps/.ssh", kind: "directory" },
  ],
  masks: { files: ["/proc/keys"], directories: ["/proc/acpi"] },
  tmpBytes: 2000,
  sharedMemoryBytes: 3000,
};

describe.each([
  ["template", templateArguments(template)],
  ["direct", directArguments(direct)],
])("the %s jail", (_, args) => {
  test("unshares every namespace", () => {
    for (const name of ["user", "pid", "net", "ipc", "uts", "cgroup"]) expect(args).toContain(`--unshare-${name}`);
  });

  test("dies with its host, has no capability, environment or terminal, and is pid 1", () => {
    expect(args).toEqual(expect.arrayContaining(["--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"]));
    expect(has(args, "--cap-drop", "ALL")).toBe(true);
    expect(args).not.toContain("--cap-add");
  });

  test("carries the tag as one whole argument", () => {
    expect(has(args, "--unsetenv", "abc123")).toBe(true);
  });

  test("shares the host's programs read-only, as the host lays them out", () => {
    expect(has(args, "--ro-bind", "/usr", "/usr")).toBe(true);
    expect(has(args, "--symlink", "usr/bin", "/bin")).toBe(true);
    expect(has(args, "--ro-bind", "/lib", "/lib")).toBe(true);
    expect(has(args, "--ro-bind", "/home/x/py", "/opt/python")).toBe(true);
  });

  test("tells the linker where a moved Python keeps its library", () => {
    expect(has(args, "--setenv", "LD_LIBRARY_PATH", "/opt/python/lib")).toBe(true);
  });

  test("has users, hosts and name service of its own", () => {
    for (const name of ["passwd", "group", "hosts", "nsswitch.conf"]) {
      expect(has(args, "--ro-bind", `/state/etc/${name}`, `/etc/${name}`)).toBe(true);
    }
  });

  test("makes the root read-only after the last mount", () => {
    const seal = args.lastIndexOf("--remount-ro");
    expect(args[seal + 1]).toBe("/");
    expect(args.slice(seal)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^--(ro-)?bind$|^--tmpfs$|^--dir$/)]),
    );
  });

  test("takes the filter on 3 and ends in the command", () => {
    expect(has(args, "--seccomp", "3")).toBe(true);
    expect(args.slice(-3)).toEqual(["--", "/opt/python/bin/python3", "-I"]);
  });
});

describe("the template jail", () => {
  const args = templateArguments(template);

  test("stages the policy's mounts in their mode", () => {
    expect(has(args, "--ro-bind", "/data/in", stagePath(0))).toBe(true);
    expect(has(args, "--bind", "/data/out", stagePath(1))).toBe(true);
  });

  test("makes mount points for targets that no cell can make itself", () => {
    expect(has(args, "--dir", "/deps")).toBe(true);
    expect(has(args, "--ro-bind", "/state/empty-file", "/one.csv")).toBe(true);
    expect(args).not.toContain("/workspace/out");
  });

  test("covers nothing in its proc, so that cells can mount theirs", () => {
    expect(args.filter((arg) => arg.startsWith("/proc"))).toEqual(["/proc"]);
  });

  test("can make user namespaces, because cells are made of them", () => {
    expect(args).not.toContain("--disable-userns");
  });

  test("shows the groups of v1 and keeps the cgroup namespace of the host only to move in v2", () => {
    expect(has(args, "--bind", "/sys/fs/cgroup/memory/own", "/run/cg/memory")).toBe(true);
    const unified = templateArguments({ ...template, cgroups: [{ controller: "unified", directory: "/cg/own" }] });
    expect(unified).not.toContain("--unshare-cgroup");
  });
});

describe("the direct jail", () => {
  const args = directArguments(direct);

  test("forbids user namespaces inside", () => {
    expect(args).toContain("--disable-userns");
  });

  test("bounds every writable file system", () => {
    for (const [bytes, path] of [
      ["1000", "/workspace"],
      ["2000", "/tmp"],
      ["3000", "/dev/shm"],
    ] as const) {
      expect(has(args, "--size", bytes, "--tmpfs", path)).toBe(true);
    }
    const { length } = args.filter((arg) => arg === "--tmpfs");
    expect(args.filter((arg) => arg === "--size")).toHaveLength(length);
  });

  test("binds a workspace of the host in place of the private one", () => {
    const bound = directArguments({ ...direct, workspace: { kind: "host", source: "/data/w" } });
    expect(has(bound, "--bind", "/data/w", "/workspace")).toBe(true);
  });

  test("covers denied paths after every mount", () => {
    const lastMount = args.indexOf("/data/in");
    expect(position(args, "--ro-bind", "/state/empty-file", "/deps/.env")).toBeGreaterThan(lastMount);
    expect(position(args, "--ro-bind", "/state/empty-directory", "/deps/.ssh")).toBeGreaterThan(lastMount);
  });

  test("covers what proc tells about the machine and seals its settings", () => {
    expect(has(args, "--ro-bind", "/state/empty-file", "/proc/keys")).toBe(true);
    expect(has(args, "--ro-bind", "/state/empty-directory", "/proc/acpi")).toBe(true);
    expect(has(args, "--ro-bind", "/proc/sys", "/proc/sys")).toBe(true);
  });
});

function has(args: readonly string[], ...words: string[]): boolean {
  return position(args, ...words) >= 0;
}

function position(args: readonly string[], ...words: string[]): number {
  return args.findIndex((_, index) => words.every((word, offset) => args[index + offset] === word));
}

test("the host's certificates are shown only to cells that have a network", () => {
  expect(templateArguments(template)).not.toContain("/etc/pki/ca.pem");
  const args = templateArguments({ ...template, certificates: "/etc/pki/ca.pem" }).join(" ");
  expect(args).toContain("--ro-bind /etc/pki/ca.pem /etc/ssl/certs/ca-certificates.crt");
});
