import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { runnerContract } from "./contract.ts";

await runnerContract("wasm runner", () => wasmRunner());
