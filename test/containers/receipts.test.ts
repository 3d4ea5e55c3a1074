import { walkReceipts } from "../contract/receipts/walk.ts";
import { containerTiers, probeWithImage, requiredName } from "../support/tiers.ts";

const kind = { directories: "mapped", hasNetwork: true, takesPython: false, hasTmpfs: true, cpus: 0.5 } as const;
// What codecell itself enforces outside the cell is the same code on every engine: sessions are attacked on the first one,
// and the audit on the process runner.
for (const [at, { name, make }] of containerTiers.entries()) {
  const without = at === 0 ? (["audit"] as const) : (["session", "audit", "llm", "tools"] as const);
  const options = { name: requiredName(name), probe: probeWithImage, without };
  await walkReceipts(`the runner on ${name}`, make, kind, options);
}
