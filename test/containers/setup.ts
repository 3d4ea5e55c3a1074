import { execFile } from "node:child_process";
import type { TestProject } from "vitest/node";
import type { EngineKind } from "../../src/runners/container/engine/engine-address.ts";
import { defaultImage } from "../../src/runners/container/image/default-image.ts";
import { findImage } from "../../src/runners/container/image/image-list.ts";
import { engineClient, startEngines, type TestEngine } from "../support/container-engines.ts";
import { recordBuild, recordedBuild } from "../support/image-record.ts";
import { importSmallImage } from "../support/small-image.ts";
import { isThorough } from "../support/thorough.ts";

const launcher = new URL("../../bin/codecell.js", import.meta.url).pathname;
const buildMs = 15 * 60_000;

export interface ImageBuild {
  /** exit code of `codecell image build`; null: it was killed */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The image that cells of the tests have, under the name of the default one. */
export type TestImage =
  | { readonly kind: "built"; readonly build: ImageBuild }
  /** a small one in its place: the real one was built and tested on that day, and nothing it depends on has changed */
  | { readonly kind: "small"; readonly builtOn: string }
  | { readonly kind: "none"; readonly reason: string };

export interface ContainersContext {
  readonly docker: TestEngine;
  readonly podman: TestEngine;
  /** a directory that the engines can mount from */
  readonly mountable: string;
  readonly image: TestImage;
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
    project.provide("containers", { docker, podman, mountable, image: await putImage(docker, podman) });
  } catch (error) {
    await engines[Symbol.asyncDispose]();
    throw error;
  }
  return async () => await engines[Symbol.asyncDispose]();
}

/** Puts the default image, or a small one in its place, into every engine. */
async function putImage(docker: TestEngine, podman: TestEngine): Promise<TestImage> {
  const recorded = recordedBuild();
  if (recorded !== undefined) {
    if (docker.available) await importSmallImage(await engineClient("docker", docker.host));
    if (podman.available) await importSmallImage(await engineClient("podman", podman.host));
    return { kind: "small", builtOn: recorded.builtOn };
  }
  const kind = docker.available ? "docker" : "podman";
  const engine = docker.available ? docker : podman;
  if (!engine.available) return { kind: "none", reason: engine.reason };
  const build = await buildImage(kind, engine.host);
  if (build.code !== 0) return { kind: "none", reason: `the image was not built: ${build.stdout}` };
  recordBuild();
  if (docker.available && podman.available) await shareImage(docker.host, podman.host);
  return { kind: "built", build };
}

/** Builds with the command itself, which also tests a build from nothing. */
function buildImage(kind: EngineKind, host: string): Promise<ImageBuild> {
  const argv = [launcher, "image", "build", "--bootstrap", "debian", "--engine", kind, "--json"];
  const env = { ...process.env, [kind === "docker" ? "DOCKER_HOST" : "CONTAINER_HOST"]: host };
  return new Promise((resolve) => {
    const options = { env, timeout: buildMs, maxBuffer: 16 * 1024 * 1024 };
    execFile(process.execPath, argv, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : null, stdout, stderr });
    });
  });
}

/** To copy the whole image takes half a minute of CPU time, and what is in it is not the question on Podman, unless every one is asked. */
async function shareImage(dockerHost: string, podmanHost: string): Promise<void> {
  const podman = await engineClient("podman", podmanHost);
  if (await findImage(podman, defaultImage())) return;
  if (!isThorough) return await importSmallImage(podman);
  const docker = await engineClient("docker", dockerHost);
  // the same as `docker save | podman load`
  const saved = await docker.stream({ path: `/images/${defaultImage()}/get`, timeoutMs: buildMs });
  await podman.bytes({
    ...{ method: "POST", path: "/images/load", timeoutMs: buildMs },
    ...{ bodyStream: saved, bodyType: "application/x-tar" },
  });
}
