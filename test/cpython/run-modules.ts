import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, chown, copyFile, cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { mountableDirectory } from "../support/host-mounts.ts";
import { type Outcomes, parseOutcomes } from "./compare.ts";
import { moduleSeconds, runsAll, type TestModule } from "./modules.ts";

const script = new URL("outcomes.py", import.meta.url).pathname;
const python = "/usr/bin/python3";
/** They mostly wait. */
const workers = "4";
const wholeMs = (runsAll ? 20 : 6) * 60_000;
const nobody = 65_534;

/** CPython's own tests for the system's Python, and its version. */
export interface CpythonTests {
  /** a directory with the package `test` */
  readonly directory: string;
  readonly version: string;
}

/** Undefined if they are not installed. `CODECELL_TEST_CPYTHON_LIBRARY` names a directory with the whole package `test`. */
export async function findCpythonTests(): Promise<CpythonTests | undefined> {
  const question = "import os, sys; print(os.path.dirname(os.__file__), '%d.%d' % sys.version_info[:2])";
  const answer = await promisify(execFile)(python, ["-I", "-c", question]).catch(() => undefined);
  if (answer === undefined) return undefined;
  const [library = "", version = ""] = answer.stdout.trim().split(" ");
  const directory = process.env.CODECELL_TEST_CPYTHON_LIBRARY ?? library;
  return existsSync(join(directory, "test/test_os.py")) ? { directory, version } : undefined;
}

/** Runs the modules on the bare machine: with the same Python, as a user without rights, in an empty environment. */
export async function runBare({ directory }: CpythonTests, modules: readonly TestModule[]): Promise<Outcomes> {
  const work = await mkdtemp(join(tmpdir(), "codecell-cpython-"));
  try {
    const isRoot = process.getuid?.() === 0;
    await copyFile(script, join(work, "outcomes.py"));
    await chmod(work, 0o755);
    if (isRoot) await chown(work, nobody, nobody);
    const args = [join(work, "outcomes.py"), directory, String(moduleSeconds), workers, JSON.stringify(modules)];
    const { stdout } = await promisify(execFile)(python, args, {
      ...{ cwd: work, timeout: wholeMs, maxBuffer: 2 ** 26 },
      ...(isRoot ? { uid: nobody, gid: nobody } : {}),
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: work, LANG: "C.UTF-8", TMPDIR: work },
    });
    return parseOutcomes(stdout);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Runs the modules in a cell with generous limits. Undefined if the cell has another version of Python. */
export async function runInCell(
  { directory, version }: CpythonTests,
  modules: readonly TestModule[],
  runner: SandboxRunner,
): Promise<Outcomes | undefined> {
  const library = await mkdtemp(join(mountableDirectory, "codecell-cpython-"));
  try {
    // a copy: an engine may be unable to mount /usr, and the cell's user must be able to read all of it
    await cp(join(directory, "test"), join(library, "test"), { recursive: true });
    await copyFile(script, join(library, "outcomes.py"));
    await chmod(library, 0o755);
    const policy = parsePolicy({
      fs: { mounts: [{ source: library, target: "/cpython" }] },
      proc: { timeout: "20m", memory: "2GiB", pids: 256, cpus: 2, disk: "1GiB", output: "16MiB" },
    });
    await using codecell = await LiveSessions.open({ policy, runners: [runner] });
    await using session = await codecell.openSession();
    const found = await session.run("import sys; '%d.%d' % sys.version_info[:2]");
    if (found.value !== `'${version}'`) return undefined;
    const args = ["/cpython/outcomes.py", "/cpython", String(moduleSeconds), workers, JSON.stringify(modules)];
    const program = `import json, subprocess, sys\nsubprocess.run([sys.executable, *json.loads(${JSON.stringify(JSON.stringify(args))})], cwd="/tmp", check=True)`;
    const result = await session.run(program, { timeoutMs: wholeMs });
    if (result.status !== "ok") throw new Error(`${result.status}: ${result.error?.traceback ?? result.stderr}`);
    return parseOutcomes(result.stdout);
  } finally {
    await rm(library, { recursive: true, force: true });
  }
}
