import { describe, expect, test } from "vitest";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import type { PolicyInput } from "../../../policy/schema.ts";
import type { CellMount } from "../../linux/mounts/mounts.ts";
import { type ContainerParts, containerMemoryBytes, containerSpec } from "./container-spec.ts";

const mebibyte = 2 ** 20;

function parts(policy: PolicyInput = {}, other: Partial<ContainerParts> = {}): ContainerParts {
  return {
    policy: parsePolicy(policy),
    engine: "docker",
    image: { name: "codecell-python:test", id: "sha256:1", volumes: [] },
    python: "/usr/bin/python3",
    runtime: undefined,
    hasOwnKernel: false,
    user: { uid: 70_001, gid: 70_002 },
    mounts: [],
    workspace: undefined,
    isReadOnly: false,
    kernelDirectory: "/run/codecell/kernel",
    identityDirectory: "/run/codecell/etc",
    socketDirectory: "/run/codecell/c1",
    closedFile: "/run/codecell/closed-file",
    closedDirectory: "/run/codecell/closed",
    emptyDirectory: "/run/codecell/empty",
    labels: { "codecell.owner": "tag" },
    checksIdentities: true,
    filter: "cell.bpf",
    processLimit: undefined,
    fileLimit: undefined,
    processors: undefined,
    limitsSockets: false,
    usesHostLabels: false,
    usesHostUsers: false,
    ...other,
  };
}

const spec = (policy?: PolicyInput, other?: Partial<ContainerParts>) => containerSpec(parts(policy, other));
const host = (policy?: PolicyInput, other?: Partial<ContainerParts>) => spec(policy, other).HostConfig;
const settings = (policy?: PolicyInput, other?: Partial<ContainerParts>) =>
  JSON.parse(spec(policy, other).Cmd[0] ?? "") as Record<string, unknown>;

describe("the spec of a container", () => {
  test("names the image by its id, so that a moved tag changes nothing", () => {
    expect(spec().Image).toBe("sha256:1");
  });

  test("mounts an empty read-only directory over each volume that the image declares", () => {
    const image = { name: "odd", id: "sha256:1", volumes: ["/data", "/tmp", "/workspace"] };
    const { Mounts } = host({}, { image });
    const empty = { Type: "bind", Source: "/run/codecell/empty", Target: "/data", ReadOnly: true };
    expect(Mounts).toContainEqual(expect.objectContaining(empty));
    expect(Mounts.filter(({ Target }) => Target === "/tmp" || Target === "/workspace")).toEqual([]);
  });

  test("turns the network off", () => {
    expect(spec()).toMatchObject({ NetworkDisabled: true, HostConfig: { NetworkMode: "none" } });
  });

  test("drops every capability", () => {
    expect(host().CapDrop).toEqual(["ALL"]);
    expect(host()).not.toHaveProperty("CapAdd");
  });

  test("stops programs from gaining privileges", () => {
    expect(host().SecurityOpt).toContain("no-new-privileges");
  });

  test("is not privileged and shares no namespace with the host", () => {
    expect(host()).not.toHaveProperty("Privileged");
    expect(host()).not.toHaveProperty("PidMode");
    expect(host()).not.toHaveProperty("Devices");
    expect(host()).toMatchObject({ IpcMode: "private", CgroupnsMode: "private" });
  });

  test("sets the cell's user", () => {
    expect(spec().User).toBe("70001:70002");
  });

  test("makes the root file system read-only", () => {
    expect(host().ReadonlyRootfs).toBe(true);
  });

  test("has an empty environment and the host name cell", () => {
    expect(spec()).toMatchObject({ Env: [], Hostname: "cell", Domainname: "" });
  });

  test("hides the host's name servers, host names and users", () => {
    expect(host()).toMatchObject({ Dns: ["127.0.0.1"], DnsSearch: ["."] });
    const targets = host().Mounts.map(({ Target }) => Target);
    expect(targets).toEqual(expect.arrayContaining(["/etc/hosts", "/etc/resolv.conf", "/etc/passwd", "/etc/group"]));
    expect(
      host()
        .Mounts.filter(({ Target }) => Target.startsWith("/etc/"))
        .every((one) => one.ReadOnly),
    ).toBe(true);
  });

  test("has names of ports and protocols, which small images lack", () => {
    const targets = host().Mounts.map(({ Target }) => Target);
    expect(targets).toEqual(expect.arrayContaining(["/etc/services", "/etc/protocols"]));
  });

  test.each([
    "/sys",
    "/proc/kcore",
    "/proc/keys",
    "/proc/kallsyms",
    "/proc/cmdline",
    "/proc/partitions",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/vmstat",
    "/proc/sys/kernel/random/boot_id",
  ])("hides %s", (path) => {
    expect(host().MaskedPaths).toContain(path);
    // Podman ignores MaskedPaths
    const option = host({}, { engine: "podman" }).SecurityOpt.find((one) => one.startsWith("mask="));
    expect(option?.slice("mask=".length).split(":")).toContain(path);
  });

  test.each(["/proc/sys", "/proc/sysrq-trigger"])("makes %s read-only", (path) => {
    expect(host().ReadonlyPaths).toContain(path);
  });

  test("limits the buffers of TCP and UDP sockets where the engine can, unless the cell has its own OS kernel", () => {
    const policy = { proc: { memory: "1GiB" } } as const;
    expect(host(policy, { limitsSockets: true })).toMatchObject({ KernelMemoryTCP: 256 * mebibyte });
    expect(host(policy)).not.toHaveProperty("KernelMemoryTCP");
    expect(host(policy, { limitsSockets: true, hasOwnKernel: true })).not.toHaveProperty("KernelMemoryTCP");
  });

  test("hides the network driver of a virtual OS kernel", () => {
    const empty = { Source: "/run/codecell/empty", Target: "/dev/net", ReadOnly: true };
    expect(host({}, { hasOwnKernel: true, runtime: "runsc" }).Mounts).toContainEqual(expect.objectContaining(empty));
    expect(host().Mounts.map(({ Target }) => Target)).not.toContain("/dev/net");
  });

  test("makes the container exit with its host process and be removed", () => {
    expect(spec()).toMatchObject({ OpenStdin: true, StdinOnce: true, HostConfig: { AutoRemove: true } });
  });

  test("turns off the engine's log and the image's health check", () => {
    expect(host().LogConfig.Type).toBe("none");
    expect(spec().Healthcheck).toEqual({ Test: ["NONE"] });
  });

  test("has the policy's limits and no swap", () => {
    const limited = host({ proc: { memory: "100MiB", disk: "10MiB", pids: 20, cpus: 0.5, files: 99 } });
    expect(limited.Memory).toBe((100 + 10 + 64 + 64) * mebibyte);
    expect(limited.MemorySwap).toBe(limited.Memory);
    expect(limited).toMatchObject({ PidsLimit: 23, NanoCpus: 5e8 });
    // SELinux would stop the cell from reading the kernel's files
    expect(host({}).SecurityOpt).not.toContain("label=disable");
    expect(host({}, { usesHostLabels: true }).SecurityOpt).toContain("label=disable");
    // Docker rejects a limit above the number of processors
    expect(host({ proc: { cpus: 16 } }, { processors: 2 }).NanoCpus).toBe(2e9);
    expect(limited.Ulimits).toEqual([
      { Name: "nofile", Soft: 99, Hard: 99 },
      { Name: "core", Soft: 0, Hard: 0 },
    ]);
  });

  test("leaves the supervisor more open files than programs, as far as the host allows it", () => {
    const files = (fileLimit: number) => host({ proc: { files: 1000 } }, { fileLimit }).Ulimits;
    expect(files(500_000)).toContainEqual({ Name: "nofile", Soft: 1000, Hard: 6096 });
    expect(files(3000)).toContainEqual({ Name: "nofile", Soft: 1000, Hard: 3000 });
    expect(files(900)).toContainEqual({ Name: "nofile", Soft: 1000, Hard: 1000 });
  });

  test("allows no more processes per user than the host does", () => {
    expect(host({}, { processLimit: 500 }).Ulimits).toContainEqual({ Name: "nproc", Soft: 500, Hard: 500 });
  });

  test("mounts files in memory without devices and setuid programs", () => {
    const { Tmpfs } = host({ proc: { disk: "10MiB" } });
    expect(Object.keys(Tmpfs)).toEqual(["/tmp", "/workspace"]);
    for (const written of Object.values(Tmpfs)) expect(written).toContain("nosuid,nodev");
    expect(Tmpfs["/workspace"]).toContain(`size=${10 * mebibyte},mode=755,uid=70001,gid=70002,nr_inodes=`);
  });

  test("closes the directories that Podman makes writable by default", () => {
    const { Tmpfs } = host({}, { engine: "podman" });
    for (const path of ["/run", "/var/tmp"]) expect(Tmpfs[path]).toMatch(/^ro,.*size=4096/);
    expect(host().Tmpfs).not.toHaveProperty("/run");
    // otherwise only the owner of the image's /workspace could write there
    for (const path of ["/tmp", "/workspace"]) expect(Tmpfs[path]).toMatch(/mode=1777,notmpcopyup$/);
  });

  test("reserves no memory for a workspace that is a host directory", () => {
    const other = { workspace: "/srv/session" };
    expect(host({}, other).Tmpfs).not.toHaveProperty("/workspace");
    expect(host({}, other).Mounts).toContainEqual({
      ...{ Type: "bind", Source: "/srv/session", Target: "/workspace", ReadOnly: false },
    });
    expect(containerMemoryBytes(parts({}, other))).toBeLessThan(containerMemoryBytes(parts()));
  });

  test("mounts covers over denied paths after their mount, and pins directories", () => {
    const found = {
      ...{ rule: "fs.mounts", source: "/srv/project", stage: "0", target: "/data", readOnly: false },
      deny: [
        { path: ".env", kind: "file" },
        { path: ".ssh", kind: "directory" },
      ],
      kind: "directory",
      ...{ pins: [".git"], nested: [{ path: "disk", identity: "0:3 /" }], identity: "1:2", ownerUid: 70_001 },
    } as const;
    const mounts = host({}, { mounts: [found] }).Mounts.filter(({ Target }) => Target.startsWith("/data"));
    expect(mounts.map(({ Source, Target, ReadOnly }) => [Source, Target, ReadOnly])).toEqual([
      ["/srv/project", "/data", false],
      ["/srv/project/.git", "/data/.git", false],
      ["/run/codecell/closed-file", "/data/.env", true],
      ["/run/codecell/closed", "/data/.ssh", true],
    ]);
    expect(settings({}, { mounts: [found] })).toMatchObject({
      targets: ["/data"],
      identities: [{ target: "/data", identity: "1:2" }],
    });
    expect(settings({}, { mounts: [found], checksIdentities: false })).toMatchObject({ identities: [] });
  });

  test("mounts nested file systems of a read-only directory read-only, before the covers of denied paths", () => {
    const found: CellMount = {
      ...{ rule: "fs.deps", source: "/srv/deps", stage: "0", target: "/deps", readOnly: true, pins: [] },
      ...{ nested: [{ path: "disk", identity: "0:3 /" }], deny: [{ path: "disk/.env", kind: "file" }] },
      ...{ kind: "directory", identity: "1:2", ownerUid: 70_001 },
    };
    const mounts = host({}, { mounts: [found] }).Mounts.filter(({ Target }) => Target.startsWith("/deps"));
    expect(mounts.map(({ Source, Target, ReadOnly }) => [Source, Target, ReadOnly])).toEqual([
      ["/srv/deps", "/deps", true],
      ["/srv/deps/disk", "/deps/disk", true],
      ["/run/codecell/closed-file", "/deps/disk/.env", true],
    ]);
    expect(settings({}, { mounts: [found] })).toMatchObject({
      identities: [{ target: "/deps", identity: "1:2" }],
      nested: [{ target: "/deps/disk", identity: "0:3 /" }],
    });
    expect(settings({}, { mounts: [found], checksIdentities: false })).toMatchObject({ nested: [] });
  });

  test("makes no read-only mount recursive", () => {
    for (const mount of host({ fs: { deps: "/srv/deps" } }, { socketDirectory: "/run/s" }).Mounts)
      expect(mount.BindOptions).toEqual(mount.ReadOnly ? { NonRecursive: true } : undefined);
  });

  test("turns the user namespace off only if the engine has one", () => {
    expect(host()).not.toHaveProperty("UsernsMode");
    expect(host({}, { usesHostUsers: true })).toMatchObject({ UsernsMode: "host" });
  });

  test("turns on the kill guard and codecell's system call filter", () => {
    expect(settings()).toMatchObject({ guard: true, filter: "cell.bpf" });
    expect(settings()).not.toHaveProperty("dataLimit");
  });

  test("sets the runtime, extra memory and inner limits for a cell with its own OS kernel", () => {
    const own = { runtime: "runsc", hasOwnKernel: true };
    expect(host({}, own).Runtime).toBe("runsc");
    expect(host()).not.toHaveProperty("Runtime");
    expect(host({}, own).Memory - host().Memory).toBe(256 * mebibyte);
    expect(host({}, own).PidsLimit).toBe(host().PidsLimit + 8192); // host threads
    const inside = host({ proc: { pids: 20 } }, { ...own, processLimit: 500 });
    expect(inside.Ulimits).toContainEqual({ Name: "nproc", Soft: 23, Hard: 23 });
    expect(settings({ proc: { memory: "100MiB" } }, own)).toMatchObject({
      ...{ guard: false, filter: "cell.bpf", dataLimit: 100 * mebibyte },
    });
  });
});
