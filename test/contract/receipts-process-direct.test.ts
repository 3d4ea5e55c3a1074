import { processRunner } from "../../src/runners/process/runner.ts";
import { enforcedByHost, walkReceipts } from "./receipts/walk.ts";

const kind = { directories: "mapped", hasNetwork: true, takesPython: true, hasTmpfs: true, cpus: 1 } as const;
const make = () => processRunner({ layout: "direct", cgroups: false });
await walkReceipts("the process runner in direct layout without control groups", make, kind, {
  without: enforcedByHost,
});
