import { chmod, lstat, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { prepareWorkspace } from "./prepare-workspace.ts";

const uid = 1_879_050_000;
let base: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "prepare-workspace-"));
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe.skipIf(process.getuid?.() !== 0)("a workspace that root prepares", () => {
  test("belongs to the cell's uid", async () => {
    await prepareWorkspace(join(base, "new"), uid);
    expect(await lstat(join(base, "new"))).toMatchObject({ uid, gid: uid });
  });

  test("of a saved session is given to another uid with all its content, without following symlinks", async () => {
    const [workspace, outside] = [join(base, "saved"), join(base, "outside")];
    await mkdir(join(workspace, "closed", "deeper"), { recursive: true });
    await writeFile(join(workspace, "closed", "deeper", "-rf"), "");
    await chmod(join(workspace, "closed"), 0);
    await writeFile(outside, "");
    await symlink(outside, join(workspace, "link"));
    await prepareWorkspace(workspace, uid);
    for (const path of [".", "closed", "closed/deeper", "closed/deeper/-rf", "link"]) {
      expect(await lstat(join(workspace, path)), path).toMatchObject({ uid, gid: uid });
    }
    expect(await lstat(outside)).toMatchObject({ uid: 0, gid: 0 });
  });
});
