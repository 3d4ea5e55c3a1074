import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { root } from "./codecell-process.ts";

test("the library example of the README prints what it says", async () => {
  const text = await readFile(join(root, "README.md"), "utf8");
  const example = /^```js\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? "";
  const directory = await mkdtemp(join(tmpdir(), "codecell-readme-"));
  try {
    const file = join(directory, "example.mjs");
    await writeFile(file, example.replace('"codecell"', JSON.stringify(join(root, "dist", "index.js"))));
    const { stdout } = await promisify(execFile)(process.execPath, [file]);
    expect(stdout).toMatch(/^Nairobi\nok kept \w+ \{ city: 'Nairobi', celsius: 25 \}\n$/);
  } finally {
    await rm(directory, { recursive: true });
  }
});
