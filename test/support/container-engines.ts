import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Cleanup } from "../../src/lib/cleanup.ts";
import { messageOf } from "../../src/lib/errors.ts";
import { findEngine } from "../../src/runners/container/engine/engine.ts";
import { addressFacts, type EngineKind } from "../../src/runners/container/engine/engine-address.ts";
import type { EngineClient } from "../../src/runners/container/engine/engine-client.ts";
import { startDocker } from "./docker-daemon.ts";
import { openEngineHome } from "./engine-home.ts";
import { findProgram } from "./find-program.ts";
import { startPodman } from "./podman-service.ts";

/** What tests know about an engine. Plain data, because vitest passes it to their processes. */
export type TestEngine =
  | { readonly available: true; readonly host: string; readonly runtimes: readonly string[] }
  | { readonly available: false; readonly reason: string; readonly hint: string };

export interface TestEngines extends AsyncDisposable {
  readonly docker: TestEngine;
  readonly podman: TestEngine;
  /** a directory below which the engines see the tests' mounts; elsewhere they do not, because of their own mount namespace */
  readonly mountable: string;
}

/** Variables that name running engines, for developers who do not want to wait for new ones. */
const running = { docker: "CODECELL_TEST_DOCKER", podman: "CODECELL_TEST_PODMAN" } as const;

/** Starts engines for this test run below one temporary directory. Disposing them leaves nothing behind. */
export async function startEngines(): Promise<TestEngines> {
  await using cleanup = new Cleanup();
  const { directory, cgroup, ...home } = await openEngineHome();
  cleanup.defer(() => home[Symbol.asyncDispose]());
  const mountable = await makeMountable(join(directory, "m"));
  const docker = await startOne("docker", ["dockerd", "containerd", "runc"], cleanup, () =>
    startDocker(join(directory, "d"), { cgroup }),
  );
  const podman = await startOne("podman", ["podman", "runc", "conmon"], cleanup, () =>
    startPodman(join(directory, "p")),
  );
  const owned = cleanup.move();
  return { docker, podman, mountable, [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose]() };
}

/** Must run before an engine starts, so that the engine sees later mounts. The home's keeper undoes it. */
async function makeMountable(directory: string): Promise<string> {
  await mkdir(directory);
  if (process.getuid?.() !== 0) return directory; // without root, tests mount nothing
  await promisify(execFile)("mount", ["--bind", "--make-shared", directory, directory]);
  return directory;
}

/** A client of a running engine. */
export async function engineClient(kind: EngineKind, host: string): Promise<EngineClient> {
  const env = kind === "docker" ? { DOCKER_HOST: host } : { CONTAINER_HOST: host };
  const asked = await findEngine(addressFacts(env), kind);
  if (!asked.available) throw new Error(asked.reason);
  return asked.engine.client;
}

async function startOne(
  kind: EngineKind,
  programs: readonly string[],
  cleanup: Cleanup,
  start: () => Promise<AsyncDisposable & { host: string }>,
): Promise<TestEngine> {
  const given = process.env[running[kind]];
  if (given) return await describe(kind, given);
  const hint = `as root: apt install docker.io podman runsc runc; or name one that runs in ${running[kind]}`;
  if (process.getuid?.() !== 0) return { available: false, reason: "starting one needs root", hint };
  for (const program of programs) {
    if (findProgram(program) === undefined) return { available: false, reason: `${program} is missing`, hint };
  }
  try {
    const engine = await start();
    cleanup.defer(() => engine[Symbol.asyncDispose]());
    cleanup.defer(() => removeContainers(kind, engine.host));
    return await describe(kind, engine.host);
  } catch (error) {
    return { available: false, reason: messageOf(error), hint };
  }
}

async function describe(kind: EngineKind, host: string): Promise<TestEngine> {
  const client = await engineClient(kind, host);
  const { Runtimes } = await client.json<{ Runtimes?: object }>({ path: "/info" });
  return { available: true, host, runtimes: Object.keys(Runtimes ?? {}) };
}

/** Removes all containers, which would otherwise outlive their daemon. */
async function removeContainers(kind: EngineKind, host: string): Promise<void> {
  const client = await engineClient(kind, host);
  const containers = await client.json<{ Id: string }[]>({ path: "/containers/json", query: { all: true } });
  const remove = ({ Id }: { Id: string }) =>
    client.bytes({ method: "DELETE", path: `/containers/${Id}`, query: { force: true, v: true } }).catch(() => {});
  await Promise.all(containers.map(remove));
}
