import { processRunner } from "../../src/runners/process/runner.ts";
import { hasMemoryGroup } from "../support/process-cells.ts";
import { offeredTools, unofferedCalls } from "./receipts/policies.ts";
import { walkReceipts } from "./receipts/walk.ts";

const kind = { directories: "mapped", hasNetwork: true, takesPython: true, hasTmpfs: true } as const;
// without control groups, a fraction of a CPU is refused
const cpus = hasMemoryGroup ? 0.5 : 1;
await walkReceipts(
  "the process runner",
  () => processRunner(),
  { ...kind, cpus },
  { more: [unofferedCalls, offeredTools] },
);
