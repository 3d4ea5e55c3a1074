import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import type { CodecellOptions } from "../../src/sessions/codecell-options.ts";
import { borrowedRunner } from "../../src/sessions/packages/build-cell.ts";
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

/**
 * A state directory and a runner for the managers of a test file, which clears it after each test. Starting a template takes longer than
 * opening a manager, and a template belongs to its runner, its policy and the directory of workspaces.
 */
export class ManagerHome implements AsyncDisposable {
  readonly stateDir: string;
  readonly #runner: SandboxRunner = processRunner({ layout: "template" });
  readonly #opened: Codecell[] = [];

  private constructor(stateDir: string) {
    this.stateDir = stateDir;
  }

  static async make(): Promise<ManagerHome> {
    return new ManagerHome(await newStateDir());
  }

  async open(policy: PolicyInput, options: Partial<CodecellOptions> = {}, dir = this.stateDir): Promise<Codecell> {
    const manager = await openManager(dir, policy, { runners: [borrowedRunner(this.#runner)], ...options });
    this.#opened.push(manager);
    return manager;
  }

  async closeManagers(): Promise<void> {
    for (const manager of this.#opened.splice(0)) await manager[Symbol.asyncDispose]();
  }

  /** Closes every manager, and removes what they kept. The directory of workspaces stays, because templates have it mounted. */
  async clear(): Promise<void> {
    await this.closeManagers();
    for (const name of await readdir(this.stateDir)) {
      const path = join(this.stateDir, name);
      const kept = name === "workspaces" ? (await readdir(path)).map((one) => join(path, one)) : [path];
      for (const one of kept) await rm(one, { recursive: true, force: true });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closeManagers();
    await this.#runner[Symbol.asyncDispose]();
    await removeStateDir(this.stateDir);
  }
}
