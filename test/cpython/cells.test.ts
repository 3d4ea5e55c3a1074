import { existsSync } from "node:fs";
import { afterAll } from "vitest";
import { Cleanup } from "../../src/lib/cleanup.ts";
import { containerRunner } from "../../src/runners/container/runner.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import { skipOrFail } from "../contract/required.ts";
import { importHostPython } from "../support/host-python-image.ts";
import { PrivateDocker, privateDockerProbe } from "../support/private-docker.ts";
import { skipsProcess } from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";
import { BareMachine } from "./bare-machine.ts";
import { containerModules, modules } from "./modules.ts";
import { describeCpython } from "./suite.ts";

const image = "codecell-cpython:latest";
/** what the tests of the chosen modules call */
const programs = [
  ...["bash", "sh", "sleep", "cat", "echo", "true", "false", "ls", "tty"].map((name) => `/bin/${name}`),
  ...["env", "id"].map((name) => `/usr/bin/${name}`),
].filter((path) => existsSync(path));

/** both cells are compared with the same outcomes of it */
const bareMachine = new BareMachine();
const cleanup = new Cleanup();
afterAll(() => cleanup[Symbol.asyncDispose]());

// A release asks it (docs/adr/0055): it compares two runs of the same tests, which take as long as the attacks on a tier.
await describeCpython({
  kind: "process",
  title: "a process cell",
  prepare: async () => () => processRunner(),
  modules,
  bareMachine,
  isMissing: !isThorough || skipsProcess,
});

// A container gives the tests the Linux kernel, the supervisor and the filters of a process cell.
await describeCpython({
  kind: "container",
  title: "a container",
  prepare: async () => {
    // with this machine's Python, so that nothing but the container differs
    const docker = await PrivateDocker.start();
    cleanup.defer(() => docker[Symbol.asyncDispose]());
    await importHostPython(docker.client, image, { programs, hasTests: true });
    return () => containerRunner({ engine: "docker", image, addresses: docker.addresses });
  },
  modules: containerModules,
  bareMachine,
  isMissing: !isThorough || skipOrFail("container", privateDockerProbe()),
});
