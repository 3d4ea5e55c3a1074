import { type Logger, silentLogger } from "../lib/log/logger.ts";
import { SilentEngines } from "../runners/container/engine/silent-engines.ts";
import { containerRunner, gvisorRunner, kataRunner } from "../runners/container/runner.ts";
import { processRunner } from "../runners/process/runner.ts";
import type { SandboxRunner } from "../runners/runner.ts";
import { srtRunner } from "../runners/srt/runner.ts";
import { wasmRunner } from "../runners/wasm/runner.ts";

/** Every runner this build has. Making one starts nothing. */
export function builtInRunners(logger: Logger = silentLogger): SandboxRunner[] {
  const silent = new SilentEngines();
  return [
    gvisorRunner({ logger, silent }),
    kataRunner({ logger, silent }),
    containerRunner({ logger, silent }),
    processRunner({ logger }),
    srtRunner({ logger }),
    wasmRunner({ logger }),
  ];
}
