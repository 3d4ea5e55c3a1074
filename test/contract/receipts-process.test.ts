import { processRunner } from "../../src/runners/process/runner.ts";
import { hasMemoryGroup } from "../support/process-cells.ts";
import { walkReceipts } from "./receipts/walk.ts";

const kind = { directories: "mapped", hasNetwork: true, takesPython: true, hasTmpfs: true } as const;
// a fraction of a processor is refused where there are no control groups
await walkReceipts("the process runner", () => processRunner(), { ...kind, cpus: hasMemoryGroup ? 0.5 : 1 });
