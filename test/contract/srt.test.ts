import type { SandboxRunner } from "../../src/runners/runner.ts";
import { hasSrtPackage, testedSrtRunner } from "../support/srt.ts";
import { runnerContract } from "./contract.ts";

/** In this repository, the package is installed with the clients in test/clients. */
async function probe(runner: SandboxRunner) {
  const answer = await runner.probe({ isPatient: true });
  if (answer.available || hasSrtPackage) return answer;
  return { ...answer, hint: "npm ci --prefix test/clients --ignore-scripts" };
}

await runnerContract("srt runner", testedSrtRunner, { workspaceAt: "its own path", probe });
