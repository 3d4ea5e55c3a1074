import { type Logger, silentLogger } from "../lib/log/logger.ts";
import { parsePolicy } from "../policy/file/parse-policy.ts";
import type { Policy, PolicyInput } from "../policy/schema.ts";
import { SilentEngines } from "../runners/container/engine/silent-engines.ts";
import { containerRunner, gvisorRunner, kataRunner } from "../runners/container/runner.ts";
import { processRunner } from "../runners/process/runner.ts";
import type { SandboxRunner } from "../runners/runner.ts";
import { srtRunner } from "../runners/srt/runner.ts";
import { wasmRunner } from "../runners/wasm/runner.ts";
import { LiveSessions } from "./live-sessions.ts";

/** What `openCodecell` is told. */
export interface OpenOptions {
  /** what people write in sandbox.policy.yaml, as an object; absent: the tightest policy */
  readonly policy?: PolicyInput;
  /** a policy that was parsed before; wins over `policy` */
  readonly parsedPolicy?: Policy;
  readonly logger?: Logger;
}

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

/** The library's front door: chooses the isolation for a policy and opens sessions in it. */
export function openCodecell(options: OpenOptions = {}): Promise<LiveSessions> {
  const policy = options.parsedPolicy ?? parsePolicy(options.policy ?? {});
  const { logger = silentLogger } = options;
  return LiveSessions.open({ policy, runners: builtInRunners(logger), logger });
}
