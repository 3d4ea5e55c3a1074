import { execFile } from "node:child_process";
import type { TestProject } from "vitest/node";
import type { EngineKind } from "../../src/runners/container/engine/engine-address.ts";
import { engineClient, startEngines, type TestEngine } from "../support/container-engines.ts";
import { importHostPython } from "../support/host-python-image.ts";
import { isThorough } from "../support/thorough.ts";

const launcher = new URL("../../bin/codecell.js", import.meta.url).pathname;
const buildMs = 15 * 60_000;

export interface ImageBuild {
  /** exit code of `codecell image build`; null: it was killed */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ContainersContext {
  readonly docker: TestEngine;
  readonly podman: TestEngine;
  /** a directory that the engines can mount from */
  readonly mountable: string;
  /** undefined: no engine can build */
  readonly build: ImageBuild | undefined;
}

declare module "vitest" {
  export interface ProvidedContext {
    containers: ContainersContext;
  }
}

/** Starts the engines once for all test files of this folder, and puts the default image into each. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const engines = await startEngines();
  try {
    const { docker, podman, mountable } = engines;
    const first = docker.available ? ("docker" as const) : ("podman" as const);
    const build = docker.available || podman.available ? await buildImage(first, engines[first]) : undefined;
    if (build?.code === 0 && docker.available && podman.available) await shareImage(docker.host, podman.host);
    project.provide("containers", { docker, podman, mountable, build });
  } catch (error) {
    await engines[Symbol.asyncDispose]();
    throw error;
  }
  return async () => await engines[Symbol.asyncDispose]();
}

const podmanPrograms = ["bash", "sh", "sleep", "cat", "ls", "echo", "true", "id", "env"].map((name) => `/bin/${name}`);

/** Builds with the command itself, which also tests a build from nothing. */
function buildImage(kind: EngineKind, engine: TestEngine): Promise<ImageBuild> {
  const host = engine.available ? engine.host : "";
  const argv = [launcher, "image", "build", "--bootstrap", "debian", "--engine", kind, "--json"];
  const env = { ...process.env, [kind === "docker" ? "DOCKER_HOST" : "CONTAINER_HOST"]: host };
  return new Promise((resolve) => {
    const options = { env, timeout: buildMs, maxBuffer: 16 * 1024 * 1024 };
    execFile(process.execPath, argv, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : null, stdout, stderr });
    });
  });
}

/**
 * Gives Podman an image under the name of the default one. What is in it is not the question there, and to copy the whole image takes
 * half a minute of CPU time. So it is this machine's Python with a few programs, unless every question is asked everywhere.
 */
async function shareImage(dockerHost: string, podmanHost: string): Promise<void> {
  const docker = await engineClient("docker", dockerHost);
  const podman = await engineClient("podman", podmanHost);
  const { defaultImage } = await import("../../src/runners/container/image/default-image.ts");
  const { imageLabels } = await import("../../src/runners/container/image/image-list.ts");
  const there = await podman.json({ path: `/images/${defaultImage()}/json` }).catch(() => undefined);
  if (there !== undefined) return;
  if (!isThorough) {
    const labels = imageLabels(defaultImage().split(":")[1] ?? "", "this machine");
    const changes = Object.entries(labels).map(([name, value]) => `LABEL ${name}=${JSON.stringify(value)}`);
    return await importHostPython(podman, defaultImage(), { programs: podmanPrograms, changes });
  }
  // the same as `docker save | podman load`
  const saved = await docker.stream({ path: `/images/${defaultImage()}/get`, timeoutMs: buildMs });
  await podman.bytes({
    ...{ method: "POST", path: "/images/load", timeoutMs: buildMs },
    ...{ bodyStream: saved, bodyType: "application/x-tar" },
  });
}
