import { inject } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { addressFacts } from "../../src/runners/container/engine/engine-address.ts";
import { containerRunner, gvisorRunner } from "../../src/runners/container/runner.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { Probe, SandboxRunner } from "../../src/runners/runner.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import type { ContainersContext } from "../containers/setup.ts";
import { skipOrFail } from "../contract/required.ts";
import type { TestEngine } from "./container-engines.ts";
import { isThorough } from "./thorough.ts";

export type TierName = "process template" | "process direct" | "wasm" | "docker" | "podman" | "gvisor";

/** One kind of isolation, and how to start its runner. */
export interface Tier {
  readonly name: TierName;
  readonly make: () => SandboxRunner;
}

/** Engines that the containers project started; undefined in other projects. */
const started = inject("containers") as ContainersContext | undefined;
/** The containers project tests only container tiers. */
export const testsContainersOnly = started !== undefined;

/** In other projects, `DOCKER_HOST` and `CONTAINER_HOST` name the engines. The image needs Python, ctypes and bash. */
const image = started ? undefined : process.env.CODECELL_TEST_IMAGE;
const options = {
  ...(image === undefined ? {} : { image }),
  ...(started
    ? { addresses: addressFacts({ DOCKER_HOST: hostOf(started.docker), CONTAINER_HOST: hostOf(started.podman) }) }
    : {}),
};

function hostOf(engine: TestEngine): string {
  return engine.available ? engine.host : "unix:///nowhere";
}

/** Variables by which the `codecell` command finds an engine of the containers project, and no other. */
export function engineVariables(kind: "docker" | "podman"): Record<string, string> {
  const host = (engine: typeof kind) => (started && engine === kind ? hostOf(started[kind]) : "unix:///nowhere");
  return { DOCKER_HOST: host("docker"), CONTAINER_HOST: host("podman") };
}

const every: readonly Tier[] = [
  { name: "process template", make: () => processRunner({ layout: "template" }) },
  { name: "process direct", make: () => processRunner({ layout: "direct" }) },
  { name: "wasm", make: () => wasmRunner() },
  { name: "docker", make: () => containerRunner({ engine: "docker", ...options }) },
  { name: "podman", make: () => containerRunner({ engine: "podman", ...options }) },
  { name: "gvisor", make: () => gvisorRunner({ engine: "docker", ...options }) },
];

const containerNames: readonly TierName[] = ["docker", "podman", "gvisor"];
export const containerTiers = every.filter(({ name }) => containerNames.includes(name));
export const tiers = testsContainersOnly ? containerTiers : every;

/**
 * Tiers without an engine that repeats another: Docker and Podman get the same request from the same code, and start the same programs on
 * the same Linux kernel. What Podman itself has to enforce is attacked by the walk of its receipt (test/containers/receipts.test.ts), and
 * what it tells its runtime is compared with Docker (test/containers/podman.test.ts).
 */
export const tiersOnePerKernel = tiers.filter(
  ({ name }) => isThorough || name !== "podman" || started?.docker.available === false,
);

/**
 * For what the host prepares and an engine is asked for: gVisor gets the same request as Docker's own runtime, from the same code. What its
 * kernel has to enforce itself is asked by its contract, by the walk of its receipt and by the attacks of the catalogue.
 */
export const tiersByRequest = tiersOnePerKernel.filter(
  ({ name }) => isThorough || name !== "gvisor" || started?.docker.available === false,
);

/** Whether the tier is missing. Fails if `REQUIRE_RUNNERS` names it, as a runner or an engine. */
export async function isMissing({ name, make }: Tier): Promise<boolean> {
  // container tiers have their own project; in others they run only if an image is named
  if (containerNames.includes(name) && !testsContainersOnly && image === undefined) return true;
  await using runner = make();
  return skipOrFail(requiredName(name), await probeWithImage(runner));
}

/** Its name in REQUIRE_RUNNERS: Docker is `container`, Podman is `podman`. */
export function requiredName(name: TierName): string {
  if (name === "docker") return "container";
  return name.startsWith("process") ? "process" : name;
}

/** Unavailable also if the engine lacks the image. */
export async function probeWithImage(runner: SandboxRunner): Promise<Probe> {
  const probe = await runner.probe({ isPatient: true });
  if (!probe.available) return probe;
  const { refused } = await runner.plan(parsePolicy({}));
  const [first] = refused;
  return first === undefined ? probe : { available: false, reason: first.reason, hint: first.hint };
}
