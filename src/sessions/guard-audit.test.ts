import { mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parsePolicy } from "../policy/file/parse-policy.ts";
import { guardCompiledCode } from "./guard-audit.ts";

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
