import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { PackageLab } from "../../../test/support/packages/package-lab.ts";
import { consoleScripts } from "./console-scripts.ts";

const python = ["/usr/bin/python3", "python3"].find((name) => spawnSync(name, ["--version"]).status === 0);

test("commands are read from their section, and a line that is more than names does not become code", () => {
  const text = `[gui_scripts]
no = a:b
[console_scripts]
pytest = pytest:console_main
two = a.b:C.main [extra]
../x = a:b
evil = a:b();import os
evil2 = a:b\\n
evil3 = a b:c
= a:b
[other]
no2 = a:b`;
  expect(consoleScripts(text).map(({ name }) => name)).toEqual(["pytest", "two"]);
  expect(consoleScripts(text)[1]?.text).toContain("from a.b import C\n");
});

test.skipIf(python === undefined)("a package's command runs from the tree, without any setting", async () => {
  await using lab = await PackageLab.open();
  const files = {
    "hello/__init__.py": "import sys\ndef main():\n    print('hello', *sys.argv[1:])\n    return 3\n",
    "hello-1.dist-info/entry_points.txt": "[console_scripts]\nhello = hello:main\n",
  };
  lab.index.add({ name: "hello", version: "1", files });
  const { directory } = await lab.prepare("hello");
  const started = promisify(execFile)(python ?? "", ["-S", join(directory, "bin", "hello"), "you"], { cwd: "/" });
  await expect(started).rejects.toMatchObject({ code: 3, stdout: "hello you\n" });
});
