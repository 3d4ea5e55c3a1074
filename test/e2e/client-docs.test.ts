import { execFile } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { availableRunners, root } from "./codecell-process.ts";
import { ServiceDirectory } from "./running-service.ts";

const runners = await availableRunners();

test.skipIf(!runners.includes("process"))(
  "the examples in docs/clients-typescript.md print the output in their comments",
  async () => {
    const text = await readFile(join(root, "docs/clients-typescript.md"), "utf8");
    const code = [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? "").join("\n");
    const said = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map((match) => match[1]);
    expect(said.length).toBeGreaterThan(12);
    await using directory = await ServiceDirectory.make();
    const token = "the-token-of-the-page";
    const { url } = (await directory.serve(["--runner", "process"], { env: { CODECELL_TOKEN: token } })).facts;
    await mkdir(join(directory.path, "node_modules"));
    await symlink(root, join(directory.path, "node_modules", "codecell"));
    const file = join(directory.path, "examples.mjs");
    await writeFile(file, `const url = ${JSON.stringify(url)}, token = ${JSON.stringify(token)};\n${code}`);
    const { stdout } = await promisify(execFile)(process.execPath, [file]);
    expect(stdout.trimEnd().split("\n")).toEqual(said);
  },
);
