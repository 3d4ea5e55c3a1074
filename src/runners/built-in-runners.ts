import { type Logger, silentLogger } from "../lib/log/logger.ts";
import { SilentEngines } from "./container/engine/silent-engines.ts";
import { containerRunner, gvisorRunner, kataRunner } from "./container/runner.ts";
import { kubernetesRunner } from "./kubernetes/runner.ts";
import { processRunner } from "./process/runner.ts";
import type { SandboxRunner } from "./runner.ts";
import { srtRunner } from "./srt/runner.ts";
import { wasmRunner } from "./wasm/runner.ts";

/** Every runner of this package. Creating one starts nothing. `isForOneCell`: only one cell will be started. */
export function builtInRunners(
  logger: Logger = silentLogger,
  { isForOneCell = false }: { isForOneCell?: boolean } = {},
): SandboxRunner[] {
  const silent = new SilentEngines();
  return [
    gvisorRunner({ logger, silent }),
    kataRunner({ logger, silent }),
    containerRunner({ logger, silent }),
    kubernetesRunner({ logger }),
    processRunner({ logger, isForOneCell }),
    srtRunner({ logger }),
    wasmRunner({ logger }),
  ];
}
