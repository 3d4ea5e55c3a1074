import { processRunner } from "../../src/runners/process/runner.ts";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { skipsProcess } from "./process-cells.ts";

/** For what the runner does not decide: an interpreter in WebAssembly takes seconds to start. */
export function fastestRunner(): SandboxRunner {
  return skipsProcess ? wasmRunner() : processRunner();
}
