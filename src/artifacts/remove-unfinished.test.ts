import { mkdir, readdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTestWorkspace } from "../../test/support/test-workspace.ts";
import { removeUnfinished } from "./remove-unfinished.ts";

const part = (digit: string) => `.codecell-${digit.repeat(32)}.part`;

test("files of uploads that were killed are removed, and nothing else", async () => {
  await using place = await openTestWorkspace();
  const { root, base } = place;
  await mkdir(join(root, "a/b"), { recursive: true });
  await mkdir(join(base, "outside"));
  await symlink(join(base, "outside"), join(root, "link"));
  const longAgo = new Date(Date.now() - 600_000);
  const abandoned = [join(root, part("1")), join(root, "a/b", part("2"))];
  const kept = [join(root, "a", ".codecell-1.part"), join(root, "a", "data.part"), join(base, "outside", part("3"))];
  for (const path of [...abandoned, ...kept]) {
    await writeFile(path, "x");
    await utimes(path, longAgo, longAgo);
  }
  await writeFile(join(root, part("4")), "an upload that is still running");
  await symlink(join(base, "canary"), join(root, "a/b", part("5")));
  await removeUnfinished(root);
  expect((await readdir(root)).sort()).toEqual([part("4"), "a", "link"]);
  expect((await readdir(join(root, "a"))).sort()).toEqual([".codecell-1.part", "b", "data.part"]);
  expect(await readdir(join(root, "a/b"))).toEqual([part("5")]);
  expect(await readdir(join(base, "outside"))).toEqual([part("3")]);
});
