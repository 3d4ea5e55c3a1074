import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { root } from "./codecell-process.ts";

test("the examples in docs/library.md print the output in their comments", async () => {
  const text = await readFile(join(root, "docs/library.md"), "utf8");
  const code = [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? "").join("\n");
  const said = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map((match) => match[1]);
  expect(said.length).toBeGreaterThan(12);
  const directory = await mkdtemp(join(tmpdir(), "codecell-docs-"));
  try {
    await mkdir(join(directory, "node_modules"));
    await symlink(root, join(directory, "node_modules", "codecell"));
    const file = join(directory, "examples.mjs");
    await writeFile(file, code);
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: directory });
    expect(stdout.trimEnd().split("\n")).toEqual(said);
  } finally {
    await rm(directory, { recursive: true });
  }
});
