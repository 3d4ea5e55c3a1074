import { enforcedByHost, walkReceipts } from "../contract/receipts/walk.ts";
import { containerTiers, probeWithImage, requiredName } from "../support/tiers.ts";

const kind = { directories: "mapped", hasNetwork: true, takesPython: false, hasTmpfs: true, cpus: 0.5 } as const;
// Recovery and checkpoints are the work of the supervisor in the cell, the same on every engine.
for (const [at, { name, make }] of containerTiers.entries()) {
  const without = at === 0 ? enforcedByHost : [...enforcedByHost, "session"];
  const options = { name: requiredName(name), probe: probeWithImage, without };
  await walkReceipts(`the runner on ${name}`, make, kind, options);
}
