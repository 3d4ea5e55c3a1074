import type { Logger } from "../lib/log/logger.ts";
import type { RunnerName } from "../policy/schema.ts";
import { announced } from "../runners/announced-runner.ts";
import type { SandboxRunner } from "../runners/runner.ts";

/** What the runners are for. */
export interface RunnersUse {
  /** the only runner that the policy allows; the code of the others is not loaded */
  readonly named?: RunnerName | "auto";
  /** one cell is started, and no more */
  readonly isForOneCell?: boolean;
  /** where runners keep sockets and files of running cells; default: the user's runtime directory */
  readonly runtimeDir?: string | undefined;
  /** prove again what other processes have proved */
  readonly mustProve?: boolean;
}

/**
 * Loads and creates the runners of this package, which log a line before anybody waits for a second. This starts nothing.
 * Surfaces do not import runners; they get them here.
 */
export async function loadRunners(logger: Logger, use: RunnersUse = {}): Promise<SandboxRunner[]> {
  return await announced((counted) => createRunners(counted, use), logger);
}

async function createRunners(logger: Logger, use: RunnersUse): Promise<SandboxRunner[]> {
  const { isForOneCell = false, mustProve = false, runtimeDir } = use;
  const place = runtimeDir === undefined ? {} : { runtimeDir };
  switch (use.named) {
    case "process":
      return [(await import("../runners/process/runner.ts")).processRunner({ ...place, isForOneCell, logger })];
    case "wasm":
      return [(await import("../runners/wasm/runner.ts")).wasmRunner({ logger })];
    case "srt":
      return [(await import("../runners/srt/runner.ts")).srtRunner({ ...place, logger })];
    case "kubernetes":
      return [(await import("../runners/kubernetes/runner.ts")).kubernetesRunner({ logger, mustProve })];
    default:
      return (await import("../runners/built-in-runners.ts")).builtInRunners(logger, use);
  }
}
