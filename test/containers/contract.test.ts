import { runnerContract } from "../contract/contract.ts";
import { containerTiers, probeWithImage, requiredName } from "../support/tiers.ts";

for (const { name, make } of containerTiers) {
  await runnerContract(`the runner on ${name}`, make, { name: requiredName(name), probe: probeWithImage });
}
