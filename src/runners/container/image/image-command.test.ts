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
  test("uses the image's id, because the answer is cached by id", () => {
    expect(spec().Image).toBe("sha256:1");
  });

  test("has no writable host directory and no writable volume", () => {
    const { Mounts, Binds } = spec().HostConfig;
    expect(Mounts.filter(({ ReadOnly }) => !ReadOnly)).toEqual([]);
    expect(Mounts.map(({ Target }) => Target)).toEqual(["/.kernel", "/data"]);
    expect(Binds).toEqual([]);
  });

  test("has limits on memory, processors and processes", () => {
    const { Memory, MemorySwap, NanoCpus, PidsLimit, ShmSize, Tmpfs } = spec().HostConfig;
    expect(MemorySwap).toBe(Memory);
    expect(NanoCpus).toBe(1e9);
    expect(PidsLimit).toBe(64);
    expect(ShmSize).toBe(16 * 2 ** 20);
    expect(Tmpfs["/tmp"]).toContain(`size=${16 * 2 ** 20},`);
  });

  test("uses the same runtime as the cells of its runner", () => {
    expect(spec("runsc").HostConfig).toMatchObject({ Runtime: "runsc" });
    expect(spec().HostConfig).not.toHaveProperty("Runtime");
  });

  test("runs only the command, and not the image's entry point or health check", () => {
    expect(spec()).toMatchObject({
      Healthcheck: { Test: ["NONE"] },
      Entrypoint: ["python3", "-I", "-c", "print()"],
    });
  });

  test("has a small tmpfs over each directory that Podman makes writable", () => {
    expect(Object.keys(spec(undefined, "podman").HostConfig.Tmpfs)).toEqual(["/tmp", "/workspace", "/run", "/var/tmp"]);
  });
});
