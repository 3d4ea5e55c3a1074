import { runnerContract } from "../contract/contract.ts";
import { containerTiers, isMissing } from "../support/tiers.ts";

for (const tier of containerTiers) {
  if (!(await isMissing(tier))) await runnerContract(`the runner on ${tier.name}`, tier.make);
}
