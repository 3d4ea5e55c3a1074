import { processRunner } from "../../src/runners/process/runner.ts";
import { noExactDisk } from "../support/exact-disk.ts";
import { hasMemoryGroup } from "../support/process-cells.ts";
import { auditPolicies, exactDisk, offeredModels, offeredTools, unofferedCalls } from "./receipts/policies.ts";
import { walkReceipts } from "./receipts/walk.ts";

const kind = { directories: "mapped", hasNetwork: true, takesPython: true, hasTmpfs: true } as const;
// where the host can mount a file system for each session
const exactDisks = noExactDisk === undefined ? [exactDisk] : [];
// The audit and the calls to the host are the same code on every runner: they are attacked on this one.
const options = { more: [...exactDisks, ...auditPolicies, unofferedCalls, offeredTools, ...offeredModels] };
// without control groups, a fraction of a CPU is refused
await walkReceipts("the process runner", () => processRunner(), { ...kind, cpus: hasMemoryGroup ? 0.5 : 1 }, options);
