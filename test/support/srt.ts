import { existsSync } from "node:fs";
import { join } from "node:path";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import { type SrtRunnerOptions, srtRunner } from "../../src/runners/srt/runner.ts";

const withClients = join(import.meta.dirname, "../clients/node_modules/@anthropic-ai/sandbox-runtime");

export const hasSrtPackage = existsSync(withClients);

/** The runner with the package that test/clients installs, because it is not a dependency here. */
export function testedSrtRunner(options: SrtRunnerOptions = {}): SandboxRunner {
  return srtRunner({ ...options, ...(hasSrtPackage ? { packagePath: withClients } : {}) });
}
