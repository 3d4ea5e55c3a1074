import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hostMounts } from "../../../lib/files/mountinfo.ts";
import { nestedMounts } from "./nested-mounts.ts";

describe("mounts below a directory", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "codecell-below-"));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  test.skipIf(process.platform !== "linux")(
    "are read from the Linux kernel's mount table, with path and identity",
    async () => {
      const mounts = await hostMounts();
      const proc = mounts.findLast(({ point }) => point === "/proc"); // the topmost
      expect(await nestedMounts("/", mounts)).toContainEqual({ path: "proc", identity: `${proc?.device} /` });
      expect(await nestedMounts("/pro", mounts)).toEqual([]);
      expect(await nestedMounts("/proc", mounts)).not.toContainEqual(expect.objectContaining({ path: "" }));
    },
  );

  test("are left out if another mount hides them, because a symlink in their place would expose its target", async () => {
    await symlink("/proc", join(directory, "link"));
    const hidden = (name: string) => ({
      ...{ id: "0", device: "0:1", root: "/", point: join(directory, name), type: "tmpfs", superOptions: [] },
    });
    expect(await nestedMounts(directory, [hidden("link"), hidden("link/self"), hidden("gone")])).toEqual([]);
  });

  test("are empty without a mount table, but a table that cannot be read is an error", async () => {
    await writeFile(join(directory, "table"), "2 1 0:1 / /b rw - tmpfs t rw\n");
    expect(await hostMounts(join(directory, "table"))).toMatchObject([{ point: "/b" }]);
    expect(await hostMounts(join(directory, "missing"))).toEqual([]);
    await expect(hostMounts(directory)).rejects.toMatchObject({ code: "EISDIR" });
  });
});
