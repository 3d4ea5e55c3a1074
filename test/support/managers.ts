import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import type { CodecellOptions } from "../../src/sessions/codecell-options.ts";
import type { RunResult } from "../../src/sessions/runs/run.ts";
import type { RunOptions } from "../../src/sessions/runs/run-options.ts";
import type { Session } from "../../src/sessions/session.ts";

/** A state directory for one test. Under root, cells run under another uid and must enter it. */
export async function newStateDir(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "cc-state-"));
  await chmod(path, 0o711);
  return path;
}

export function removeStateDir(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true });
}

export function openManager(
  stateDir: string,
  policy: PolicyInput = {},
  options: Partial<CodecellOptions> = {},
): Promise<Codecell> {
  const runners = [processRunner({ layout: "template" })];
  return Codecell.open({ policy: parsePolicy(policy), runners, stateDir, ...options });
}

export async function runIn(session: Session, code: string, options?: RunOptions): Promise<RunResult> {
  return session.run(code, options);
}
