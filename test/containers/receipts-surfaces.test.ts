import { compareSurfaces } from "../e2e/compare-surfaces.ts";
import { isThorough } from "../support/thorough.ts";
import { containerTiers, engineVariables, probeWithImage, requiredName } from "../support/tiers.ts";

for (const { name, make } of containerTiers) {
  const env = engineVariables(name === "podman" ? "podman" : "docker");
  const found = { name: requiredName(name), probe: probeWithImage, env };
  // the engines share the code that writes receipts and the surfaces that show them
  const onlyRun = name !== "docker" && !isThorough;
  await compareSurfaces(`the runner on ${name}`, { make, onlyRun, ...found });
}
