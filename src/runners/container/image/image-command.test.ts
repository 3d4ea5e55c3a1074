import { describe, expect, test } from "vitest";
import type { Engine } from "../engine/engine.ts";
import { imageCommandSpec } from "./image-command.ts";

const engine = { kind: "docker", remapsUsers: false } as Engine;

function spec(runtime?: string, kind: Engine["kind"] = "docker") {
  return imageCommandSpec(
    {
      ...{
        engine: { ...engine, kind },
        runtime,
        hasOwnKernel: runtime !== undefined,
        user: { uid: 70_001, gid: 70_001 },
        labels: {},
      },
      ...{ processLimit: undefined, emptyDirectory: "/run/empty" },
      image: { name: "python:odd", id: "sha256:1", volumes: ["/data"] },
    },
    { command: ["python3", "-I", "-c", "print()"], kernelDirectory: "/run/draft" },
  );
}

describe("the container that examines an image", () => {
  test("is made of what the image's name meant, for the answer is kept under that", () => {
    expect(spec().Image).toBe("sha256:1");
  });

  test("can write to no directory of the host, neither ours nor a volume of its own", () => {
    const { Mounts, Binds } = spec().HostConfig;
    expect(Mounts.filter(({ ReadOnly }) => !ReadOnly)).toEqual([]);
    expect(Mounts.map(({ Target }) => Target)).toEqual(["/.kernel", "/data"]);
    expect(Binds).toEqual([]);
  });

  test("has a bounded share of memory, processors and processes", () => {
    const { Memory, MemorySwap, NanoCpus, PidsLimit, ShmSize, Tmpfs } = spec().HostConfig;
    expect(MemorySwap).toBe(Memory);
    expect(NanoCpus).toBe(1e9);
    expect(PidsLimit).toBe(64);
    expect(ShmSize).toBe(16 * 2 ** 20);
    expect(Tmpfs["/tmp"]).toContain(`size=${16 * 2 ** 20},`);
  });

  test("has the OS kernel of its own that cells of the same runner have", () => {
    expect(spec("runsc").HostConfig).toMatchObject({ Runtime: "runsc" });
    expect(spec().HostConfig).not.toHaveProperty("Runtime");
  });

  test("runs no program of the image but the command", () => {
    expect(spec()).toMatchObject({
      Healthcheck: { Test: ["NONE"] },
      Entrypoint: ["python3", "-I", "-c", "print()"],
    });
  });

  test("finds nothing writable under Podman either", () => {
    expect(Object.keys(spec(undefined, "podman").HostConfig.Tmpfs)).toEqual(["/tmp", "/workspace", "/run", "/var/tmp"]);
  });
});
