import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { root } from "./codecell-process.ts";

const text = await readFile(join(root, "README.md"), "utf8");
const [library = ""] = [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? "");

describe("the README example", () => {
  test("of the library prints the output in its comments", async () => {
    expect(await output(library)).toBe("ok 16\n3\n5\n8\nerror list index out of range\n");
  });
});

async function output(example: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "codecell-readme-"));
  await chmod(directory, 0o711); // under root, cells run as another user and must enter it
  try {
    const file = join(directory, "example.mjs");
    await writeFile(file, example.replace('"codecell"', JSON.stringify(join(root, "dist", "index.js"))));
    const env = { ...process.env, XDG_STATE_HOME: directory };
    const { stdout } = await promisify(execFile)(process.execPath, [file], { env });
    return stdout;
  } finally {
    await rm(directory, { recursive: true });
  }
}
