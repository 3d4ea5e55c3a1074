import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { examplesOf, outputPattern } from "../support/doc-examples.ts";
import { availableRunners, launcher, root } from "./codecell-process.ts";

const runners = await availableRunners();

/**
 * Commands in ```console runnable blocks of the documents, each with the output that the page shows. A block names the
 * runner that it needs: ```console runnable process.
 */
const pages = await Promise.all(
  ["README.md", "docs/cli.md", "docs/plots.md", "docs/audit.md", "docs/logs.md", "docs/notebooks.md"].map(
    async (page) => ({
      page,
      examples: examplesOf(await readFile(join(root, page), "utf8"), runners),
    }),
  ),
);

await using runner = processRunner();
const hasBash = (await runner.probe({ isPatient: true })).available;

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-docs-"));
  await chmod(cwd, 0o711); // under root, cells run as another user
  const shim = join(cwd, "codecell");
  await writeFile(shim, `#!/bin/sh\nexec "${process.execPath}" "${launcher}" "$@"\n`);
  await chmod(shim, 0o755);
});
afterAll(() => rm(cwd, { recursive: true }));

for (const { page, examples } of pages) {
  test(`${page} has examples`, () => expect(examples.length).toBeGreaterThan(1));

  // the WASM runner has no shell
  test.each(examples.filter(({ command }) => hasBash || !command.includes("bash")))(
    `${page}: $command`,
    async ({ command, output }) => {
      const shown = await shell(command);
      if (output !== "") expect(shown).toMatch(outputPattern(output));
    },
  );
}

/** All commands of a page run in one directory, so that one can use the files of another. */
function shell(command: string): Promise<string> {
  const env = { ...process.env, PATH: `${cwd}:${process.env.PATH}`, XDG_STATE_HOME: join(cwd, "state") };
  return new Promise((resolve) => {
    execFile("/bin/sh", ["-c", `{ ${command}\n} 2>&1`], { cwd, env }, (_error, stdout) => resolve(stdout.trimEnd()));
  });
}
