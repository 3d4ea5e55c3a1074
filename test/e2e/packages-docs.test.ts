import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { removeTree } from "../../src/lib/files/remove-tree.ts";
import { parsePolicyText } from "../../src/policy/file/parse-policy-text.ts";
import { examplesOf, outputPattern } from "../support/doc-examples.ts";
import { PackageIndex } from "../support/package-index.ts";
import { availableRunners, launcher, root } from "./codecell-process.ts";

const page = await readFile(join(root, "docs/packages.md"), "utf8");
const examples = examplesOf(page, await availableRunners());
const module = `__version__ = "4.9.0"

def naturalsize(size):
    return "1.0 MB" if size == 10**6 else "%.1f kB" % (size / 1000)
`;

let cwd: string;
let index: PackageIndex;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-docs-"));
  await chmod(cwd, 0o711); // under root, cells run as another user
  const shim = join(cwd, "codecell");
  await writeFile(shim, `#!/bin/sh\nexec "${process.execPath}" "${launcher}" "$@"\n`);
  await chmod(shim, 0o755);
  index = await PackageIndex.start();
  index.add({ name: "humanize", version: "4.9.0", files: { "humanize/__init__.py": module } });
});
afterAll(async () => {
  await index[Symbol.asyncDispose]();
  await removeTree(cwd);
});

test("docs/packages.md has examples", () => expect(examples.length).toBeGreaterThan(8));

test.each(examples)("docs/packages.md: $command", async ({ command, output }) => {
  const shown = await shell(command);
  if (output !== "") expect(shown).toMatch(outputPattern(output));
});

test("the policy of docs/packages.md parses", () => {
  const [, example = ""] = /^```yaml\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const policy = parsePolicyText(example, { file: "sandbox.policy.yaml", baseDir: "/srv", homeDir: "/home/someone" });
  expect(policy.kernel.packages.install).toHaveLength(2);
});

/** As a user whose pip uses the index of this test. */
function shell(command: string): Promise<string> {
  const own = { PIP_INDEX_URL: index.url, PIP_CONFIG_FILE: "/dev/null", XDG_STATE_HOME: join(cwd, "state") };
  const env = { ...process.env, PATH: `${cwd}:${process.env.PATH}`, ...own };
  return new Promise((resolve) => {
    execFile("/bin/sh", ["-c", `{ ${command}\n} 2>&1`], { cwd, env }, (_error, stdout) => resolve(stdout.trimEnd()));
  });
}
