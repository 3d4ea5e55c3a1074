import { compareSurfaces } from "../e2e/compare-surfaces.ts";
import { containerTiers, engineVariables, probeWithImage, requiredName } from "../support/tiers.ts";

for (const { name, make } of containerTiers) {
  const env = engineVariables(name === "podman" ? "podman" : "docker");
  const found = { name: requiredName(name), probe: probeWithImage, env };
  await compareSurfaces(`the runner on ${name}`, { make, ...found });
}
