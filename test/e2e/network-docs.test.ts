import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { skipsProcess } from "../support/process-cells.ts";
import { root } from "./codecell-process.ts";

test.skipIf(skipsProcess)("the example in docs/network.md prints the output in its comments", async () => {
  const text = await readFile(join(root, "docs/network.md"), "utf8");
  const [, code = ""] = /^```js\n([\s\S]*?)^```$/m.exec(text) ?? [];
  const said = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map((match) => match[1]);
  expect(said.length).toBeGreaterThan(3);
  const directory = await mkdtemp(join(tmpdir(), "codecell-docs-"));
  try {
    const file = join(directory, "example.mjs");
    await writeFile(file, code.replace('"codecell"', JSON.stringify(join(root, "dist", "index.js"))));
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: directory });
    expect(stdout.trimEnd().split("\n")).toEqual(said);
  } finally {
    await rm(directory, { recursive: true });
  }
});
