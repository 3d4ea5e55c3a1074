import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bindMount, cannotMount, mountMemory } from "../../test/support/host-mounts.ts";
import { openTestWorkspace } from "../../test/support/test-workspace.ts";
import { visibleMounts } from "./visible-mounts.ts";
import { openWorkspaceFiles } from "./workspace-files.ts";

const refused = { code: "file_refused", hint: "copy it into the workspace" };

describe.skipIf(cannotMount)("mounts below a shared workspace", () => {
  test("files of a bind mount are neither read, listed, described, written nor removed", async () => {
    await using workspace = await openTestWorkspace();
    const { base, root } = workspace;
    await mkdir(join(base, "keys/sub"), { recursive: true });
    await writeFile(join(base, "keys/key"), "CANARY");
    await mkdir(join(root, "data"));
    await writeFile(join(root, "file"), "");
    await writeFile(join(root, "own"), "own");
    await using _directory = await bindMount(join(base, "keys"), join(root, "data"));
    await using _file = await bindMount(join(base, "keys/key"), join(root, "file"));
    await using files = await openWorkspaceFiles(root, { mounts: await visibleMounts(root) });
    for (const path of ["data/key", "file"]) {
      await expect(files.read(path), path).rejects.toMatchObject(refused);
      await expect(files.stat(path), path).rejects.toMatchObject(refused);
    }
    await expect(files.write("data/sub/new", Buffer.from("x"), { maxBytes: 10 })).rejects.toMatchObject(refused);
    await expect(files.remove("data/key")).rejects.toMatchObject(refused);
    expect((await files.list()).files.map(({ path }) => path)).toEqual(["own"]);
    expect(Buffer.from((await files.read("own")).data).toString()).toBe("own");
  });

  test("a file system of its own is served if it was mounted when the session started, and refused later", async () => {
    await using workspace = await openTestWorkspace();
    const { root } = workspace;
    await using _early = await mountMemory(join(root, "early"), { a: "early" });
    await using files = await openWorkspaceFiles(root, { mounts: await visibleMounts(root) });
    await using _late = await mountMemory(join(root, "late"), { a: "late" });
    expect(Buffer.from((await files.read("early/a")).data).toString()).toBe("early");
    await files.write("early/b", Buffer.from("new"), { maxBytes: 10 });
    await expect(files.read("late/a")).rejects.toMatchObject(refused);
    expect((await files.list()).files.map(({ path }) => path)).toEqual(["early/a", "early/b"]);
  });
});
