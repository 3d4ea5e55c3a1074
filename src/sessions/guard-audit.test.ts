import { mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parsePolicy } from "../policy/file/parse-policy.ts";
import { guardCompiledCode, guardWarmSockets } from "./guard-audit.ts";

let directory: string;
beforeEach(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), "codecell-guard-")));
  await mkdir(join(directory, "runtime"));
  await symlink("runtime", join(directory, "link"));
});
afterEach(() => rm(directory, { recursive: true }));

const mounting = (source: string, mode: "ro" | "rw") =>
  parsePolicy({ fs: { mounts: [{ source, target: "/data", mode }] } });

test.each([".", "runtime", "runtime/compiled", "link"])(
  "a policy that lets code write to %s, where the command line's compiled code is, is refused",
  async (place) => {
    const compiled = join(directory, "runtime", "compiled");
    await mkdir(compiled);
    const refused = guardCompiledCode(mounting(join(directory, place), "rw"), compiled);
    await expect(refused).rejects.toMatchObject({ code: "policy_refused" });
    await expect(guardCompiledCode(mounting(join(directory, place), "ro"), compiled)).resolves.toBeUndefined();
  },
);

test("a policy that lets code write elsewhere is not refused for the compiled code", async () => {
  const policy = mounting(join(directory, "runtime", "work"), "rw");
  await expect(guardCompiledCode(policy, join(directory, "runtime", "compiled"))).resolves.toBeUndefined();
});

test.each([".", "runtime", "runtime/warm", "link"])(
  "a policy that lets code reach %s, where the sockets of warm cells are, is refused while they exist",
  async (place) => {
    const warm = join(directory, "runtime", "warm");
    const mounts = (["ro", "rw"] as const).map((mode) => mounting(join(directory, place), mode));
    for (const policy of mounts) await expect(guardWarmSockets(policy, warm)).resolves.toBeUndefined();
    await mkdir(warm);
    for (const policy of mounts) {
      await expect(guardWarmSockets(policy, warm)).rejects.toMatchObject({ code: "policy_refused" });
    }
  },
);

test("a policy that lets code reach another directory is not refused for the sockets of warm cells", async () => {
  const warm = join(directory, "runtime", "warm");
  await mkdir(warm);
  const policy = mounting(join(directory, "runtime", "work"), "rw");
  await expect(guardWarmSockets(policy, warm)).resolves.toBeUndefined();
});
