import { readdirSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { removeTree } from "../../src/lib/files/remove-tree.ts";
import { newStateDir, openManager, runIn } from "../support/managers.ts";
import { skipsProcess } from "../support/process-cells.ts";

/** Deeper than PATH_MAX allows. */
const dig = `import os
for _ in range(200):
    os.mkdir("d" * 50)
    os.chdir("d" * 50)
open("bottom", "w").write("x")`;

describe.skipIf(skipsProcess)("a workspace with directories deeper than the longest allowed path", () => {
  let stateDir: string;
  beforeEach(async () => {
    stateDir = await newStateDir();
  });
  afterEach(() => removeTree(stateDir));
  const workspaces = () => readdirSync(join(stateDir, "workspaces"));
  const contents = () => workspaces().map((name) => readdirSync(join(stateDir, "workspaces", name)));

  test("is removed with its session", async () => {
    await using manager = await openManager(stateDir);
    await runIn(await manager.session("deep"), dig); // the disk watchdog may end the session
    expect(contents()).toEqual([["d".repeat(50)]]);
    await manager.closeSession("deep");
    expect(workspaces()).toEqual([]);
  });

  test("does not stop a later manager from opening after its own was killed", async () => {
    await using killed = await openManager(stateDir);
    await runIn(await killed.session("deep"), dig);
    expect(contents()).toEqual([["d".repeat(50)]]);
    const [name = ""] = workspaces();
    await rename(join(stateDir, "workspaces", name), join(stateDir, "workspaces", "m000000000000-1"));
    await using _next = await openManager(stateDir);
    expect(workspaces()).toEqual([]);
  });
});
