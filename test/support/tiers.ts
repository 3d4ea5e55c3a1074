import { parsePolicy } from "../../src/policy/parse-policy.ts";
import { containerRunner, gvisorRunner } from "../../src/runners/container/runner.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { Probe, SandboxRunner } from "../../src/runners/runner.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { skipOrFail } from "../contract/required.ts";

export type TierName = "process template" | "process direct" | "wasm" | "docker" | "podman" | "gvisor";

/** One kind of isolation, and whether this machine has it. */
export interface Tier {
  readonly name: TierName;
  readonly make: () => SandboxRunner;
}

/** `DOCKER_HOST` and `CONTAINER_HOST` say where engines listen; the image needs Python, ctypes and bash. */
const image = process.env.CODECELL_TEST_IMAGE;
const options = image === undefined ? {} : { image };

export const tiers: readonly Tier[] = [
  { name: "process template", make: () => processRunner({ layout: "template" }) },
  { name: "process direct", make: () => processRunner({ layout: "direct" }) },
  { name: "wasm", make: () => wasmRunner() },
  { name: "docker", make: () => containerRunner({ engine: "docker", ...options }) },
  { name: "podman", make: () => containerRunner({ engine: "podman", ...options }) },
  { name: "gvisor", make: () => gvisorRunner({ engine: "docker", ...options }) },
];

/** True where the tier is not there and may be missing; `REQUIRE_RUNNERS` takes the names of runners and of engines. */
export async function isMissing({ name, make }: Tier): Promise<boolean> {
  await using runner = make();
  const isEngine = name === "docker" || name === "podman";
  return skipOrFail(isEngine ? name : runner.name, await probeWithImage(runner));
}

/** An engine without an image to run is of no use here. */
async function probeWithImage(runner: SandboxRunner): Promise<Probe> {
  const probe = await runner.probe();
  if (!probe.available) return probe;
  const { refused } = await runner.plan(parsePolicy({}));
  const [first] = refused;
  return first === undefined ? probe : { available: false, reason: first.reason, hint: first.hint };
}
