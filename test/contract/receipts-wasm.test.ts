import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { auditPolicies } from "./receipts/policies.ts";
import { walkReceipts } from "./receipts/walk.ts";

await walkReceipts("the wasm runner", () => wasmRunner(), { opens: false, cpus: 1 }, auditPolicies);
