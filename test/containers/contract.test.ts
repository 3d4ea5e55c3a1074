import { runnerContract } from "../contract/contract.ts";
import {
  containerTiers,
  probeWithImage,
  requiredName,
  testsContainersOnly,
  tiersOnePerKernel,
} from "../support/tiers.ts";

// Where both engines are, a container of Podman is compared with one of Docker (podman.test.ts).
for (const { name, make } of testsContainersOnly ? tiersOnePerKernel : containerTiers) {
  await runnerContract(`the runner on ${name}`, make, { name: requiredName(name), probe: probeWithImage });
}
