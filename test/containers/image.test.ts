import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { defaultImage } from "../../src/runners/container/image/default-image.ts";
import { CodecellProcess, codecell, launcher, living } from "../e2e/codecell-process.ts";
import { engineFor } from "./context.ts";
import type { ImageBuild } from "./setup.ts";

const host = engineFor("container");
const { image } = inject("containers");
const failed: ImageBuild = { code: null, stdout: "", stderr: "" };

describe.skipIf(host === undefined)("codecell image, with Docker", () => {
  const docker = { env: { DOCKER_HOST: host ?? "" } };

  test.runIf(image.kind === "built")("builds on a base image that it makes itself, and prints its progress", () => {
    const { code, stdout, stderr } = image.kind === "built" ? image.build : failed;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ image: defaultImage(), engine: "docker" });
    // an engine that ran before the tests may already have the image or its base
    if (process.env.CODECELL_TEST_DOCKER === undefined)
      expect(stderr).toMatch(/debootstrap[\s\S]*step 1 of \d+[\s\S]*apt-get/);
  });

  test("builds the same recipe once", async () => {
    const { code, stdout, stderr } = await codecell(["image", "build", "--json"], docker);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ image: defaultImage(), outcome: "already_there" });
    expect((await codecell(["image", "build"], docker)).stdout).toContain("already exists");
  });

  test.runIf(image.kind === "built")("lists the built images, and marks the default one", async () => {
    const { images, default: current } = JSON.parse((await codecell(["image", "ls", "--json"], docker)).stdout);
    expect(current).toBe(defaultImage());
    const ours = images.find(({ tags }: { tags: string[] }) => tags.includes(current));
    expect(ours).toMatchObject({ version: current.split(":")[1], base: "codecell-base:debian-bookworm" });
    expect(ours.tags).toContain("codecell-python:latest");
    expect((await codecell(["image", "ls"], docker)).stdout).toContain(`${current} *`);
  });

  test("shows the default image, and exits with 1 for a missing image", async () => {
    const shown = await codecell(["image", "show"], docker);
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining(defaultImage()) });
    const missing = await codecell(["image", "show", "codecell-python:none", "--json"], docker);
    expect(missing.code).toBe(1);
    expect(JSON.parse(missing.stdout)).toMatchObject({ image: "codecell-python:none", there: false });
  });

  test("leaves no file and no process when it is interrupted while it makes a base image", async () => {
    const directory = await mkdtemp(join(tmpdir(), "cc-interrupted-"));
    const argv = [
      "image",
      "build",
      "--bootstrap",
      "debian",
      "--force",
      "--verbose",
      "--tag",
      "codecell-test:interrupted",
    ];
    const build = new CodecellProcess(launcher, argv, { env: { ...docker.env, TMPDIR: directory } });
    await build.printed("Retrieving"); // printed by debootstrap
    const processes = build.descendants();
    expect(processes).not.toEqual([]);
    process.kill(build.pid, "SIGINT");
    expect(await build.finished).toMatchObject({ code: 130, stdout: "" });
    expect(living(processes)).toEqual([]);
    expect(await readdir(directory)).toEqual([]);
    await rm(directory, { recursive: true });
  });

  test("prints a hint when the registry of the base image cannot be reached", async () => {
    // nobody listens on port 1
    const argv = ["image", "build", "--base", "127.0.0.1:1/debian:bookworm-slim"];
    const { code, stdout, stderr } = await codecell(argv, docker);
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toContain("127.0.0.1:1/debian:bookworm-slim could not be pulled");
    expect(stderr).toContain("connection refused");
    expect(stderr).toContain("codecell image build --bootstrap debian");
  });
});

const podmanHost = engineFor("podman");

test.skipIf(podmanHost === undefined)("codecell image, with Podman, shows loaded images and builds none", async () => {
  const podman = { env: { CONTAINER_HOST: podmanHost ?? "" } };
  const { code, stdout } = await codecell(["image", "build", "--engine", "podman", "--json"], podman);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ engine: "podman", image: defaultImage(), outcome: "already_there" });
});

test("codecell image names the address where no engine answers", async () => {
  const directory = await mkdtemp(join(tmpdir(), "codecell-none-"));
  const address = `unix://${directory}/docker.sock`;
  const options = { env: { DOCKER_HOST: address } };
  const { code, stdout } = await codecell(["image", "build", "--engine", "docker", "--json"], options);
  await rm(directory, { recursive: true });
  expect(code).toBe(4);
  const { error } = JSON.parse(stdout);
  expect(error.message).toContain(`${address} (DOCKER_HOST)`);
  expect(error.hint).toContain("DOCKER_HOST");
});

test.each([
  [["--engine", "lxc"], "one of: docker, podman"],
  [["--network", "bridge7"], "one of: default, host, none"],
  [["--bootstrap", "arch"], "one of: debian"],
  [["--base", "../etc"], "such as debian:bookworm-slim"],
  [["--base", "debian:12", "--bootstrap", "debian"], "use one of them"],
])("codecell image refuses %j before it contacts an engine", async (argv, hint) => {
  const { code, stderr } = await codecell(["image", "build", ...argv]);
  expect(code).toBe(2);
  expect(stderr).toContain(hint);
});
