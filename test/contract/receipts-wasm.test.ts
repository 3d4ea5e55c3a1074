import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { enforcedByHost, walkReceipts } from "./receipts/walk.ts";

const kind = { directories: "none", hasNetwork: false, takesPython: false, hasTmpfs: false, cpus: 1 } as const;
await walkReceipts("the wasm runner", () => wasmRunner(), kind, { without: enforcedByHost });
