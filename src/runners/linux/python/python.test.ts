import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findPython } from "./python.ts";

let base: string;
beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "python-test-")));
  await chmod(base, 0o755);
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe("findPython", () => {
  test("adds no mounts for an interpreter under /usr", async () => {
    const python = await pretend("python3", {
      prefix: "/usr",
      path: ["/usr/lib", "/usr/absent"],
      executable: "/usr/bin/env",
    });
    expect(await findPython(python)).toEqual({
      executable: await realpath("/usr/bin/env"),
      executableInside: await realpath("/usr/bin/env"),
      version: [3, 11, 2],
      bytecode: "some",
      mounts: [],
      path: [await realpath("/usr/lib")],
    });
  });

  test("mounts a prefix outside /usr at a neutral path and adapts the import path", async () => {
    const prefix = join(base, "somebody", "versions", "3.12");
    await mkdir(join(prefix, "lib/python3.12"), { recursive: true });
    await mkdir(join(prefix, "bin"));
    await writeFile(join(prefix, "bin/python3.12"), "");
    await symlink("python3.12", join(prefix, "bin/python3"));
    await mkdir(join(base, "editable"));
    const path = [join(prefix, "lib/python3.12"), join(base, "editable"), join(prefix, "lib/absent.zip"), ""];
    const python = await pretend("python3", { prefix, path, executable: join(prefix, "bin/python3") });
    expect(await findPython(python)).toMatchObject({
      executable: join(prefix, "bin/python3.12"),
      executableInside: "/opt/python/bin/python3.12",
      mounts: [{ source: prefix, target: "/opt/python" }],
      path: ["/opt/python/lib/python3.12"],
    });
  });

  test("returns the library directory of an interpreter outside /usr", async () => {
    await mkdir(join(base, "python/bin"), { recursive: true });
    await writeFile(join(base, "python/bin/python3"), "");
    const facts = {
      prefix: join(base, "python"),
      path: [],
      executable: join(base, "python/bin/python3"),
      shared: true,
    };
    expect((await findPython(await pretend("python3", facts))).libraryPath).toBe("/opt/python/lib");
    const ofSystem = { prefix: "/usr", path: [], executable: "/usr/bin/env", shared: true };
    expect((await findPython(await pretend("python3", ofSystem))).libraryPath).toBeUndefined();
  });

  test("mounts a virtual environment in addition to its base", async () => {
    const packages = join(base, "venv/lib/python3.11/site-packages");
    await mkdir(packages, { recursive: true });
    const facts = {
      prefix: join(base, "venv"),
      base: "/usr",
      path: ["/usr/lib", packages],
      executable: "/usr/bin/env",
    };
    expect(await findPython(await pretend("python3", facts))).toMatchObject({
      mounts: [{ source: join(base, "venv"), target: "/opt/venv" }],
      path: [await realpath("/usr/lib"), "/opt/venv/lib/python3.11/site-packages"],
    });
  });

  test("rejects a prefix that the cell's uid cannot enter, and names the directory", async () => {
    const prefix = join(base, "private", "python");
    await mkdir(join(prefix, "bin"), { recursive: true });
    await writeFile(join(prefix, "bin/python3"), "");
    await chmod(join(base, "private"), 0o700);
    const python = await pretend("python3", { prefix, path: [], executable: join(prefix, "bin/python3") });
    await expect(findPython(python, { forOtherUid: true })).rejects.toMatchObject({
      code: "runner_unavailable",
      message: expect.stringContaining(`${join(base, "private")} is private`),
    });
    await expect(findPython(python)).resolves.toBeDefined();
  });

  test("rejects an old Python and names its version", async () => {
    const python = await pretend("python3", {
      prefix: "/usr",
      path: [],
      executable: "/usr/bin/env",
      version: [3, 8, 18],
    });
    await expect(findPython(python)).rejects.toMatchObject({
      message: expect.stringContaining("3.8.18"),
      hint: expect.stringContaining("apt install"),
    });
  });

  test("rejects a program that is not Python or does not exist", async () => {
    await expect(findPython("/usr/bin/env")).rejects.toMatchObject({ code: "runner_unavailable" });
    await expect(findPython(join(base, "absent"))).rejects.toMatchObject({ code: "runner_unavailable" });
  });

  test("reports a timeout without the source of the program that was run", async () => {
    const slow = join(base, "slow");
    await writeFile(slow, "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 });
    const message = `${slow} did not answer within 0.2 s`;
    await expect(findPython(slow, { timeoutMs: 200 })).rejects.toMatchObject({ message });
  });

  test("examines each interpreter once per cache, and again after a failure", async () => {
    const cache = new Map();
    const python = join(base, "python3");
    await expect(findPython(python, { cache })).rejects.toThrow();
    await pretend("python3", { prefix: "/usr", path: [], executable: "/usr/bin/env" });
    const first = await findPython(python, { cache });
    await rm(python);
    expect(await findPython(python, { cache })).toBe(first);
  });

  test("skips shims on the search path", async () => {
    const marker = join(base, "shim-ran");
    await mkdir(join(base, "shims"));
    await writeFile(join(base, "shims/python3"), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 });
    await findPython(undefined, { searchPath: [join(base, "shims"), "relative"] }).catch(() => {});
    await expect(promisify(execFile)("/bin/ls", [marker])).rejects.toThrow();
  });
});

interface Facts {
  readonly prefix: string;
  readonly base?: string;
  readonly path: readonly string[];
  readonly executable: string;
  readonly version?: readonly number[];
  readonly shared?: boolean;
}

/** A fake interpreter that prints these facts. */
async function pretend(name: string, facts: Facts): Promise<string> {
  const answer = JSON.stringify({ base: facts.prefix, version: [3, 11, 2], bytecode: "some", shared: false, ...facts });
  const path = join(base, name);
  await writeFile(path, `#!/bin/sh\ncat <<'END'\n${answer}\nEND\n`, { mode: 0o755 });
  return path;
}
