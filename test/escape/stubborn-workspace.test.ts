import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { removeTree } from "../../src/lib/remove-tree.ts";
import { newStateDir, openManager, runIn } from "../support/managers.ts";
import { skipsProcess } from "../support/process-cells.ts";

const digDeep = `import os
for _ in range(20):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
os.chdir("/workspace")`;

describe.skipIf(skipsProcess)("a workspace whose paths are too long to be named", () => {
  let stateDir: string;
  beforeEach(async () => {
    stateDir = await newStateDir();
  });
  afterEach(() => removeTree(stateDir));

  test("goes with its session, and keeps nobody from opening others", async () => {
    const workspaces = join(stateDir, "workspaces");
    {
      await using manager = await openManager(stateDir);
      await runIn(await manager.getOrCreate("digger"), digDeep); // the watch may end it for what it does
      const [workspace = ""] = await readdir(workspaces);
      expect(await readdir(join(workspaces, workspace))).toEqual(["d".repeat(250)]);
    }
    expect(await readdir(workspaces)).toEqual([]);
    await using manager = await openManager(stateDir);
    expect(await runIn(await manager.getOrCreate("other"), "40 + 2")).toMatchObject({ result: "42" });
  });
});
