import { processRunner } from "../../src/runners/process/runner.ts";
import { hasMemoryGroup } from "../support/process-cells.ts";
import { walkReceipts } from "./receipts/walk.ts";

// without control groups, a fraction of a CPU is refused
await walkReceipts("the process runner", () => processRunner(), { opens: true, cpus: hasMemoryGroup ? 0.5 : 1 });
