import { describe, expect, test } from "vitest";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import type { PolicyInput } from "../../../policy/schema.ts";
import type { CellMount } from "../../linux/mounts.ts";
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
    kernelDirectory: "/run/codecell/kernel",
    identityDirectory: "/run/codecell/etc",
    socketDirectory: "/run/codecell/c1",
    emptyFile: "/run/codecell/empty-file",
    emptyDirectory: "/run/codecell/empty",
    labels: { "codecell.owner": "tag" },
    checksIdentities: true,
    filter: "cell.bpf",
    processLimit: undefined,
    processors: undefined,
    usesHostLabels: false,
    usesHostUsers: false,
    ...other,
  };
}

const spec = (policy?: PolicyInput, other?: Partial<ContainerParts>) => containerSpec(parts(policy, other));
const host = (policy?: PolicyInput, other?: Partial<ContainerParts>) => spec(policy, other).HostConfig;
const settings = (policy?: PolicyInput, other?: Partial<ContainerParts>) =>
  JSON.parse(spec(policy, other).Cmd[0] ?? "") as Record<string, unknown>;

describe("a container", () => {
  test("is made of what the image's name meant when it was looked at", () => {
    expect(spec().Image).toBe("sha256:1");
  });

  test("has an empty directory that nobody can write to where its image declares a volume", () => {
    const image = { name: "odd", id: "sha256:1", volumes: ["/data", "/tmp", "/workspace"] };
    const { Mounts } = host({}, { image });
    const empty = { Type: "bind", Source: "/run/codecell/empty", Target: "/data", ReadOnly: true };
    expect(Mounts).toContainEqual(expect.objectContaining(empty));
    expect(Mounts.filter(({ Target }) => Target === "/tmp" || Target === "/workspace")).toEqual([]);
  });

  test("has no network", () => {
    expect(spec()).toMatchObject({ NetworkDisabled: true, HostConfig: { NetworkMode: "none" } });
  });

  test("has no capability", () => {
    expect(host().CapDrop).toEqual(["ALL"]);
    expect(host()).not.toHaveProperty("CapAdd");
  });

  test("gets no privileges from a program that it starts", () => {
    expect(host().SecurityOpt).toContain("no-new-privileges");
  });

  test("is never privileged, and shares no namespace of the host", () => {
    expect(host()).not.toHaveProperty("Privileged");
    expect(host()).not.toHaveProperty("PidMode");
    expect(host()).not.toHaveProperty("Devices");
    expect(host()).toMatchObject({ IpcMode: "private", CgroupnsMode: "private" });
  });

  test("runs as its own user", () => {
    expect(spec().User).toBe("70001:70002");
  });

  test("cannot write to its image", () => {
    expect(host().ReadonlyRootfs).toBe(true);
  });

  test("starts with no variable, and is called cell", () => {
    expect(spec()).toMatchObject({ Env: [], Hostname: "cell", Domainname: "" });
  });

  test("learns neither name servers nor names of the host", () => {
    expect(host()).toMatchObject({ Dns: ["127.0.0.1"], DnsSearch: ["."] });
    const targets = host().Mounts.map(({ Target }) => Target);
    expect(targets).toEqual(expect.arrayContaining(["/etc/hosts", "/etc/resolv.conf", "/etc/passwd", "/etc/group"]));
    expect(
      host()
        .Mounts.filter(({ Target }) => Target.startsWith("/etc/"))
        .every((one) => one.ReadOnly),
    ).toBe(true);
  });

  test.each(["/sys", "/proc/kcore", "/proc/keys", "/proc/kallsyms", "/proc/cmdline", "/proc/partitions"])(
    "does not see %s",
    (path) => {
      expect(host().MaskedPaths).toContain(path);
      // Podman passes over MaskedPaths
      const option = host({}, { engine: "podman" }).SecurityOpt.find((one) => one.startsWith("mask="));
      expect(option?.slice("mask=".length).split(":")).toContain(path);
    },
  );

  test.each(["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"])(
    "cannot write to %s",
    (path) => {
      expect(host().ReadonlyPaths).toContain(path);
    },
  );

  test("ends when its host is gone, and is removed", () => {
    expect(spec()).toMatchObject({ OpenStdin: true, StdinOnce: true, HostConfig: { AutoRemove: true } });
  });

  test("writes nothing to the engine's logs, and runs no check of its image", () => {
    expect(host().LogConfig.Type).toBe("none");
    expect(spec().Healthcheck).toEqual({ Test: ["NONE"] });
  });

  test("has the policy's limits, and no swap", () => {
    const limited = host({ proc: { memory: "100MiB", disk: "10MiB", pids: 20, cpus: 0.5, files: 99 } });
    expect(limited.Memory).toBe((100 + 10 + 64 + 64) * mebibyte);
    expect(limited.MemorySwap).toBe(limited.Memory);
    expect(limited).toMatchObject({ PidsLimit: 23, NanoCpus: 5e8 });
    // SELinux would keep the cell from its own kernel's files
    expect(host({}).SecurityOpt).not.toContain("label=disable");
    expect(host({}, { usesHostLabels: true }).SecurityOpt).toContain("label=disable");
    // Docker refuses a container that asks for more processors than there are
    expect(host({ proc: { cpus: 16 } }, { processors: 2 }).NanoCpus).toBe(2e9);
    expect(limited.Ulimits).toEqual([
      { Name: "nofile", Soft: 99, Hard: 99 },
      { Name: "core", Soft: 0, Hard: 0 },
    ]);
  });

  test("asks for no more processes per user than the host gives", () => {
    expect(host({}, { processLimit: 500 }).Ulimits).toContainEqual({ Name: "nproc", Soft: 500, Hard: 500 });
  });

  test("has files in memory that cannot hold devices or set-user programs", () => {
    const { Tmpfs } = host({ proc: { disk: "10MiB" } });
    expect(Object.keys(Tmpfs)).toEqual(["/tmp", "/workspace"]);
    for (const written of Object.values(Tmpfs)) expect(written).toContain("nosuid,nodev");
    expect(Tmpfs["/workspace"]).toContain(`size=${10 * mebibyte},mode=755,uid=70001,gid=70002,nr_inodes=`);
  });

  test("a container on Podman has no directory that Podman makes writable by itself", () => {
    const { Tmpfs } = host({}, { engine: "podman" });
    for (const path of ["/run", "/var/tmp"]) expect(Tmpfs[path]).toMatch(/^ro,.*size=4096/);
    expect(host().Tmpfs).not.toHaveProperty("/run");
    // or the owner of the image's /workspace would be the only one who can write there
    for (const path of ["/tmp", "/workspace"]) expect(Tmpfs[path]).toMatch(/mode=1777,notmpcopyup$/);
  });

  test("a container with a host directory as its workspace takes no memory for it", () => {
    const other = { workspace: "/srv/session" };
    expect(host({}, other).Tmpfs).not.toHaveProperty("/workspace");
    expect(host({}, other).Mounts).toContainEqual({
      ...{ Type: "bind", Source: "/srv/session", Target: "/workspace", ReadOnly: false },
    });
    expect(containerMemoryBytes(parts({}, other))).toBeLessThan(containerMemoryBytes(parts()));
  });

  test("covers what is denied after the mount that it is in, and pins directories", () => {
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
      ["/run/codecell/empty-file", "/data/.env", true],
      ["/run/codecell/empty", "/data/.ssh", true],
    ]);
    expect(settings({}, { mounts: [found] })).toMatchObject({
      targets: ["/data"],
      identities: [{ target: "/data", identity: "1:2" }],
    });
    expect(settings({}, { mounts: [found], checksIdentities: false })).toMatchObject({ identities: [] });
  });

  test("has what the host mounted below a read-only directory read-only by itself, after that and before its covers", () => {
    const found: CellMount = {
      ...{ rule: "fs.deps", source: "/srv/deps", stage: "0", target: "/deps", readOnly: true, pins: [] },
      ...{ nested: [{ path: "disk", identity: "0:3 /" }], deny: [{ path: "disk/.env", kind: "file" }] },
      ...{ kind: "directory", identity: "1:2", ownerUid: 70_001 },
    };
    const mounts = host({}, { mounts: [found] }).Mounts.filter(({ Target }) => Target.startsWith("/deps"));
    expect(mounts.map(({ Source, Target, ReadOnly }) => [Source, Target, ReadOnly])).toEqual([
      ["/srv/deps", "/deps", true],
      ["/srv/deps/disk", "/deps/disk", true],
      ["/run/codecell/empty-file", "/deps/disk/.env", true],
    ]);
    expect(settings({}, { mounts: [found] })).toMatchObject({
      identities: [{ target: "/deps", identity: "1:2" }],
      nested: [{ target: "/deps/disk", identity: "0:3 /" }],
    });
    expect(settings({}, { mounts: [found], checksIdentities: false })).toMatchObject({ nested: [] });
  });

  test("brings along nothing that is mounted below a read-only directory, of ours or the policy's", () => {
    for (const mount of host({ fs: { deps: "/srv/deps" } }, { socketDirectory: "/run/s" }).Mounts)
      expect(mount.BindOptions).toEqual(mount.ReadOnly ? { NonRecursive: true } : undefined);
  });

  test("gives up a user namespace only where the engine has one", () => {
    expect(host()).not.toHaveProperty("UsernsMode");
    expect(host({}, { usesHostUsers: true })).toMatchObject({ UsernsMode: "host" });
  });

  test("is guarded by its supervisor, and under our filter", () => {
    expect(settings()).toMatchObject({ guard: true, filter: "cell.bpf" });
    expect(settings()).not.toHaveProperty("dataLimit");
  });

  test("a container with an OS kernel of its own has that runtime, memory for it, and limits inside", () => {
    const own = { runtime: "runsc", hasOwnKernel: true };
    expect(host({}, own).Runtime).toBe("runsc");
    expect(host()).not.toHaveProperty("Runtime");
    expect(host({}, own).Memory - host().Memory).toBe(256 * mebibyte);
    expect(host({}, own).PidsLimit).toBe(host().PidsLimit + 1024);
    const inside = host({ proc: { pids: 20 } }, { ...own, processLimit: 500 });
    expect(inside.Ulimits).toContainEqual({ Name: "nproc", Soft: 23, Hard: 23 });
    expect(settings({ proc: { memory: "100MiB" } }, own)).toMatchObject({
      ...{ guard: false, filter: "cell.bpf", dataLimit: 100 * mebibyte },
    });
  });
});
