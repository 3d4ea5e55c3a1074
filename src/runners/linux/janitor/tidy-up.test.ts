import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chown, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { tidyUp } from "./tidy-up.ts";

let base: string;
let tag: string;
let directory: string;
beforeEach(async () => {
  tag = `jan${randomBytes(6).toString("hex")}`;
  base = await mkdtemp(join(tmpdir(), "tidy-up-"));
  directory = join(base, tag);
  await mkdir(join(directory, "inner"), { recursive: true });
  await writeFile(join(directory, "inner", "file"), "");
});
afterEach(() => rm(base, { recursive: true, force: true }));
const owner = () => ({ tag, cgroupDirs: [join(base, "groups")], directories: [directory] });

describe.skipIf(process.platform !== "linux")("tidyUp", () => {
  test("removes the owner's cgroups and directories, and not the target of a link", async () => {
    for (const name of [`${tag}-1`, "another-1"]) await mkdir(join(base, "groups", name), { recursive: true });
    await mkdir(join(base, "precious", "inner"), { recursive: true });
    await symlink(join(base, "precious"), join(directory, "link"));
    expect(tidyUp(owner())).toBe(true);
    expect((await readdir(base)).sort()).toEqual(["groups", "precious"]);
    expect(await readdir(join(base, "groups"))).toEqual(["another-1"]);
    expect(await readdir(join(base, "precious"))).toEqual(["inner"]);
  });

  test("removes nothing while a process has the tag", async () => {
    await mkdir(join(base, "groups", `${tag}-1`), { recursive: true });
    const child = spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1000)", tag]);
    await once(child.stdout, "data");
    try {
      expect(tidyUp(owner())).toBe(false);
      expect((await readdir(base)).sort()).toEqual(["groups", tag]);
    } finally {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    expect(tidyUp(owner())).toBe(true);
  });

  test("is not kept from it by a janitor, whose arguments contain the tag in a path", async () => {
    await mkdir(join(base, "groups"));
    const child = spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1000)", directory]);
    await once(child.stdout, "data");
    try {
      expect(tidyUp(owner())).toBe(true);
    } finally {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  });

  test("leaves a cgroup that is in use to the janitor", async () => {
    await mkdir(join(base, "groups", `${tag}-1`, "busy"), { recursive: true });
    expect(tidyUp(owner())).toBe(false);
  });

  test.runIf(process.getuid?.() === 0)("leaves a directory of another user to the janitor", async () => {
    await mkdir(join(base, "groups"));
    await chown(join(directory, "inner"), 12345, 12345);
    expect(tidyUp(owner())).toBe(false);
    expect(await readdir(join(directory, "inner"))).toEqual(["file"]);
  });
});
