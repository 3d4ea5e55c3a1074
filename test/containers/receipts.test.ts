import { walkReceipts } from "../contract/receipts/walk.ts";
import { containerTiers, probeWithImage, requiredName } from "../support/tiers.ts";

const kind = { directories: "mapped", hasNetwork: true, takesPython: false, hasTmpfs: true, cpus: 0.5 } as const;
for (const { name, make } of containerTiers) {
  await walkReceipts(`the runner on ${name}`, make, kind, { name: requiredName(name), probe: probeWithImage });
}
