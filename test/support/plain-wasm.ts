import type { SandboxRunner } from "../../src/runners/runner.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";

/** The runner that every machine has, without bubblewrap around it. */
export function plainWasm(): SandboxRunner[] {
  return [wasmRunner({ bubblewrap: "off" })];
}
