import { walkReceipts } from "../contract/receipts/walk.ts";
import { containerTiers, probeWithImage, requiredName } from "../support/tiers.ts";

const kind = { directories: "mapped", hasNetwork: true, takesPython: false, hasTmpfs: true, cpus: 0.5 } as const;
// What codecell itself enforces outside the cell is the same code on every engine: it is attacked on the first one.
for (const [at, { name, make }] of containerTiers.entries()) {
  const options = { name: requiredName(name), probe: probeWithImage, cellRulesOnly: at > 0 };
  await walkReceipts(`the runner on ${name}`, make, kind, options);
}
