import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { skipsProcess } from "../support/process-cells.ts";
import { root } from "./codecell-process.ts";

test.skipIf(skipsProcess)("the examples in docs/sessions.md print the output in their comments", async () => {
  const text = await readFile(join(root, "docs/sessions.md"), "utf8");
  const blocks = [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? "");
  expect(blocks.length).toBeGreaterThan(6);
  const code = blocks.join("\n");
  const directory = await mkdtemp(join(tmpdir(), "codecell-docs-"));
  try {
    await chmod(directory, 0o711);
    const file = join(directory, "examples.mjs");
    await mkdir(join(directory, "node_modules"));
    await symlink(root, join(directory, "node_modules", "codecell"));
    await writeFile(file, code);
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: directory });
    const watched = "0\n1\n2\n"; // the output of the run whose events the example reads
    expect(stdout).toContain(watched);
    expect(stdout.replace(watched, "")).toMatch(said(code));
  } finally {
    await rm(directory, { recursive: true });
  }
});

/** The comments after `console.log(…);`, or on the line below it; `…` stands for anything. */
function said(code: string): RegExp {
  const comments = [...code.matchAll(/console\.log\(.*\);(?: |\n)\/\/ (.*)$/gm)].map((match) => match[1] ?? "");
  const lines = comments.map((line) => line.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("…", ".*"));
  return new RegExp(`^${lines.join("\n")}\n$`);
}
