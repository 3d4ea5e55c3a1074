import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Probe, SandboxRunner } from "../../src/runners/runner.ts";
import { type SrtRunnerOptions, srtRunner } from "../../src/runners/srt/runner.ts";

const withClients = join(import.meta.dirname, "../clients/node_modules/@anthropic-ai/sandbox-runtime");

export const hasSrtPackage = existsSync(withClients);

/** The runner with the package that test/clients installs, because it is not a dependency here. */
export function testedSrtRunner(options: SrtRunnerOptions = {}): SandboxRunner {
  return srtRunner({ ...options, ...(hasSrtPackage ? { packagePath: withClients } : {}) });
}

/** In this repository the package comes with the clients that tests drive. */
export async function probeSrt(runner: SandboxRunner): Promise<Probe> {
  const answer = await runner.probe({ isPatient: true });
  if (answer.available || hasSrtPackage) return answer;
  return { ...answer, hint: "npm ci --prefix test/clients --ignore-scripts" };
}
