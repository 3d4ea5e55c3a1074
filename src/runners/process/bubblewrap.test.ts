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
  closedFile: "/state/closed-file",
  closedDirectory: "/state/closed-directory",
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
  mapsUsers: false,
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

  test("is killed with its host process, is pid 1, and has no capabilities, environment or terminal", () => {
    expect(args).toEqual(expect.arrayContaining(["--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"]));
    expect(has(args, "--cap-drop", "ALL")).toBe(true);
    expect(args).not.toContain("--cap-add");
  });

  test("has the tag as an argument of its own", () => {
    expect(has(args, "--unsetenv", "abc123")).toBe(true);
  });

  test("mounts the host's programs read-only, in the host's layout", () => {
    expect(has(args, "--ro-bind", "/usr", "/usr")).toBe(true);
    expect(has(args, "--symlink", "usr/bin", "/bin")).toBe(true);
    expect(has(args, "--ro-bind", "/lib", "/lib")).toBe(true);
    expect(has(args, "--ro-bind", "/home/x/py", "/opt/python")).toBe(true);
  });

  test("sets the library path of a Python outside /usr", () => {
    expect(has(args, "--setenv", "LD_LIBRARY_PATH", "/opt/python/lib")).toBe(true);
  });

  test("has its own users, host names and name service configuration", () => {
    for (const name of ["passwd", "group", "hosts", "nsswitch.conf", "services", "protocols"]) {
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

  test("reads the filter from descriptor 3 and ends with the command", () => {
    expect(has(args, "--seccomp", "3")).toBe(true);
    expect(args.slice(-3)).toEqual(["--", "/opt/python/bin/python3", "-I"]);
  });
});

describe("the template jail", () => {
  const args = templateArguments(template);

  test("stages the policy's mounts with their modes", () => {
    expect(has(args, "--ro-bind", "/data/in", stagePath(0))).toBe(true);
    expect(has(args, "--bind", "/data/out", stagePath(1))).toBe(true);
  });

  test("creates mount points for targets that a cell cannot create", () => {
    expect(has(args, "--dir", "/deps")).toBe(true);
    expect(has(args, "--ro-bind", "/state/empty-file", "/one.csv")).toBe(true);
    expect(args).not.toContain("/workspace/out");
  });

  test("masks nothing in /proc, so that cells can mount their own", () => {
    expect(args.filter((arg) => arg.startsWith("/proc"))).toEqual(["/proc"]);
  });

  test("allows user namespaces, because cells need them", () => {
    expect(args).not.toContain("--disable-userns");
  });

  test("mounts the groups of cgroup v1, and keeps the host's cgroup namespace for cgroup v2 only", () => {
    expect(has(args, "--bind", "/sys/fs/cgroup/memory/own", "/run/cg/memory")).toBe(true);
    const unified = templateArguments({ ...template, cgroups: [{ controller: "unified", directory: "/cg/own" }] });
    expect(unified).not.toContain("--unshare-cgroup");
  });
});

describe("the direct jail", () => {
  const args = directArguments(direct);

  test("disables user namespaces inside", () => {
    expect(args).toContain("--disable-userns");
  });

  test("limits the size of every writable file system", () => {
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

  test("mounts a host directory as the workspace", () => {
    const bound = directArguments({ ...direct, workspace: { kind: "host", source: "/data/w", mode: "rw" } });
    expect(has(bound, "--bind", "/data/w", "/workspace")).toBe(true);
    const full = directArguments({ ...direct, workspace: { kind: "host", source: "/data/w", mode: "ro" } });
    expect(has(full, "--ro-bind", "/data/w", "/workspace")).toBe(true);
  });

  test("covers denied paths after all mounts", () => {
    const lastMount = args.indexOf("/data/in");
    expect(position(args, "--ro-bind", "/state/closed-file", "/deps/.env")).toBeGreaterThan(lastMount);
    expect(position(args, "--ro-bind", "/state/closed-directory", "/deps/.ssh")).toBeGreaterThan(lastMount);
  });

  test("masks details of the machine in /proc and makes its settings read-only", () => {
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

test("the host's certificates are mounted only in cells that have a network", () => {
  expect(templateArguments(template)).not.toContain("/etc/pki/ca.pem");
  const args = templateArguments({ ...template, certificates: "/etc/pki/ca.pem" }).join(" ");
  expect(args).toContain("--ro-bind /etc/pki/ca.pem /etc/ssl/certs/ca-certificates.crt");
});

describe("the jail of a template whose cells have their own uids", () => {
  const args = templateArguments({ ...template, mapsUsers: true });

  test("lets the template switch to the uids of its namespace, and has no other capability", () => {
    const added = args.flatMap((arg, index) => (arg === "--cap-add" ? [args[index + 1]] : []));
    expect(added).toEqual(["CAP_SETUID", "CAP_SETGID", "CAP_KILL"]);
    expect(args.indexOf("--cap-drop")).toBeLessThan(args.indexOf("--cap-add"));
    expect(templateArguments(template)).not.toContain("--cap-add");
  });

  test("creates the directories above its mounts, because bubblewrap would close them to other uids", () => {
    const text = args.join(" ");
    expect(text).toContain("--dir /run/m --ro-bind /data/in /run/m/0");
    expect(text).toContain("--dir /etc --ro-bind /");
    expect(args.filter((arg, index) => arg === "/etc" && args[index - 1] === "--dir")).toHaveLength(1);
    expect(text.indexOf("--tmpfs /run")).toBeLessThan(text.indexOf("--dir /run/m"));
  });
});
