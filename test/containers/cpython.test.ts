import { usualModules } from "../cpython/modules.ts";
import { describeCpython } from "../cpython/suite.ts";
import { sharedKernelTiers } from "../support/process-cells.ts";

/** Docker and Podman start the same programs on the same Linux kernel: one of them is enough. */
const tier = sharedKernelTiers.find(({ isMissing }) => !isMissing) ?? sharedKernelTiers[0];

if (tier?.make !== undefined) {
  const { make, isMissing = false } = tier;
  await describeCpython({ kind: "container", title: "a container", make, modules: usualModules, isMissing });
}
