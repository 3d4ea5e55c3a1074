import { enforcedByHost, enforcedByProxy, enforcedBySupervisor, walkReceipts } from "../contract/receipts/walk.ts";
import { isThorough } from "../support/thorough.ts";
import { containerTiers, probeWithImage, requiredName, type TierName } from "../support/tiers.ts";

const kind = { directories: "mapped", hasNetwork: true, takesPython: false, hasTmpfs: true, cpus: 0.5 } as const;

/**
 * Docker's receipt is walked whole. The proxy is the same process for every engine, and the supervisor and what it gives programs are the
 * same in every cell. In Podman they also have the Linux kernel of Docker's. On gVisor's, the contract asks for the limits of time and
 * output and for variables. So there only the rows remain that the engine or the Linux kernel itself enforces. `ATTACKS=all` walks all.
 */
function walkedElsewhere(name: TierName): readonly string[] {
  if (name === "docker" || isThorough) return enforcedByHost;
  return [...enforcedByHost, ...enforcedByProxy, ...enforcedBySupervisor, "fs.load", "env"];
}

for (const { name, make } of containerTiers) {
  const options = { name: requiredName(name), probe: probeWithImage, without: walkedElsewhere(name) };
  await walkReceipts(`the runner on ${name}`, make, kind, options);
}
