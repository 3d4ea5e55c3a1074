import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { copyWasmRuntime } from "./wasm-runtime.ts";

/** A block of shell commands that a reader pastes, and what it prints. */
export interface Step {
  readonly script: string;
  /** a runner or a package that it needs; undefined: none */
  readonly needs: string | undefined;
  readonly output: string;
}

/** One tour of docs/walkthroughs.md, which starts in an empty directory. */
export interface Walkthrough {
  readonly title: string;
  readonly steps: readonly Step[];
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = await readFile(join(root, "docs/walkthroughs.md"), "utf8");

/** How many blocks of the page say that they run. */
export const runnableBlocks = [...page.matchAll(/^```sh runnable/gm)].length;

/** The tours of the page, in its order. */
export const walkthroughs: readonly Walkthrough[] = page
  .split(/^## /m)
  .slice(1)
  .map((section) => {
    const blocks = section.matchAll(/^```sh runnable(?: (\S+))?\n([\s\S]*?)^```\n```text\n([\s\S]*?)^```$/gm);
    const steps = [...blocks].map(([, needs, script = "", output = ""]) => ({
      ...{ needs, script, output: output.trimEnd() },
    }));
    return { title: section.slice(0, section.indexOf("\n")), steps };
  });

/** A shell in an empty directory, with `codecell` on its path and a state directory of its own. */
export async function readersShell(env: Readonly<Record<string, string>> = {}) {
  const top = await mkdtemp(join(tmpdir(), "codecell-tour-"));
  const bin = join(top, "bin");
  const cwd = join(top, "tour");
  await chmod(top, 0o711); // under root, cells run as another user
  await Promise.all([mkdir(bin), mkdir(cwd), copyWasmRuntime(join(top, "state"))]);
  const command = `#!/bin/sh\nexec "${process.execPath}" "${join(root, "bin", "codecell.js")}" "$@"\n`;
  await writeFile(join(bin, "codecell"), command, { mode: 0o755 });
  const path = `${bin}:${env.PATH ?? process.env.PATH}`;
  const shellEnv = { ...process.env, ...env, PATH: path, XDG_STATE_HOME: join(top, "state") };
  return {
    cwd,
    paste(script: string): Promise<string> {
      return new Promise((resolve) => {
        const options = { cwd, env: shellEnv, timeout: 120_000 };
        execFile("/bin/sh", ["-c", `{ ${script}\n} 2>&1`], options, (_error, stdout) => resolve(stdout.trimEnd()));
      });
    },
    [Symbol.asyncDispose]: () => rm(top, { recursive: true, force: true }),
  };
}
