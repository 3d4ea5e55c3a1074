import { type Logger, silentLogger } from "../lib/log/logger.ts";
import { SilentEngines } from "./container/engine/silent-engines.ts";
import { containerRunner, gvisorRunner, kataRunner } from "./container/runner.ts";
import { kubernetesRunner } from "./kubernetes/runner.ts";
import { processRunner } from "./process/runner.ts";
import type { SandboxRunner } from "./runner.ts";
import { srtRunner } from "./srt/runner.ts";
import { wasmRunner } from "./wasm/runner.ts";

/**
 * Every runner of this package. Creating one starts nothing. `isForOneCell`: only one cell will be started. `runtimeDir`: for sockets and
 * files of running cells; default: the user's.
 */
export function builtInRunners(
  logger: Logger = silentLogger,
  { isForOneCell = false, runtimeDir }: { isForOneCell?: boolean; runtimeDir?: string | undefined } = {},
): SandboxRunner[] {
  const silent = new SilentEngines();
  const place = runtimeDir === undefined ? {} : { runtimeDir };
  return [
    gvisorRunner({ ...place, logger, silent }),
    kataRunner({ ...place, logger, silent }),
    containerRunner({ ...place, logger, silent }),
    kubernetesRunner({ logger }),
    processRunner({ ...place, logger, isForOneCell }),
    srtRunner({ ...place, logger }),
    wasmRunner({ logger }),
  ];
}
