import { readdirSync } from "node:fs";
import { chown, mkdtemp, rename } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { removeTree } from "../../src/lib/files/remove-tree.ts";
import { mountableDirectory } from "../support/host-mounts.ts";
import { newStateDir, openManager, runIn } from "../support/managers.ts";
import { bothLayouts, describeAttacks, look, openCells, run, skipsProcess } from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";

const nest = `import os
for _ in range(2100):
    os.mkdir("d")
    os.chdir("d")`;

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

// the host searches the directory with the same code for both layouts
const layouts = isThorough ? bothLayouts : bothLayouts.slice(0, 1);
describeAttacks(layouts, "a host directory with thousands of nested directories, in the $name", (layout) => {
  test("can be the workspace of later sessions, without what is too deep to search", async () => {
    const workspace = await mkdtemp(join(mountableDirectory, "codecell-deep-"));
    onTestFinished(() => removeTree(workspace));
    if (process.getuid?.() === 0) await chown(workspace, 54_321, 54_321); // cells never run as root
    const policy = { fs: { workspace } } as const;
    {
      await using codecell = await openCells(layout, policy);
      await using session = await codecell.openSession();
      await run(session, nest);
    }
    await using codecell = await openCells(layout, policy);
    await using session = await codecell.openSession();
    const levels = await look(
      session,
      `import os
count = 0
try:
    while True:
        os.chdir("d")
        count += 1
except PermissionError:
    print(count)`,
    );
    expect(levels).toBeGreaterThan(500);
    expect(levels).toBeLessThan(1_100);
  });
});
