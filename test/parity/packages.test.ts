import { chmod, mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { removeTree } from "../../src/lib/files/remove-tree.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import type { ContainersContext } from "../containers/setup.ts";
import { skipOrFail } from "../contract/required.ts";
import { PackageIndex } from "../support/package-index.ts";
import { probeSrt, testedSrtRunner } from "../support/srt.ts";
import { isThorough } from "../support/thorough.ts";
import { isMissing, testsContainersOnly, tiersByRequest } from "../support/tiers.ts";

async function hasNoSrt(): Promise<boolean> {
  if (testsContainersOnly) return true;
  await using runner = testedSrtRunner();
  return skipOrFail("srt", await probeSrt(runner));
}

const tested: readonly { name: string; make: () => SandboxRunner; isAbsent: boolean }[] = [
  ...(await Promise.all(
    tiersByRequest.map(async ({ name, make }) => ({ name, make, isAbsent: await isMissing({ name, make }) })),
  )),
  { name: "srt", make: () => testedSrtRunner(), isAbsent: await hasNoSrt() },
];
const mountable = (inject("containers") as ContainersContext | undefined)?.mountable;

let stateDir: string;
let index: PackageIndex;
beforeAll(async () => {
  stateDir = await mkdtemp(join(mountable ?? tmpdir(), "codecell-packages-"));
  await chmod(stateDir, 0o711); // cells of root run under another uid
  index = await PackageIndex.start();
  index.add({
    name: "tool",
    version: "1.0",
    files: { "tool.py": "def main():\n    print('ran')\n" },
    entries: [{ path: "tool-1.0.dist-info/entry_points.txt", content: "[console_scripts]\ntool-cmd = tool:main\n" }],
  });
});
afterAll(async () => {
  await index?.[Symbol.asyncDispose]();
  await removeTree(stateDir);
});

describe.each(tested.filter(({ isAbsent }) => !isAbsent))("packages in $name", ({ name, make }) => {
  const open = (input: PolicyInput) =>
    Codecell.open({ policy: { audit: { enabled: false }, ...input }, runners: [make()], stateDir });
  const withTool = (more: object = {}) => ({
    kernel: { packages: { install: ["tool==1.0"], index: [index.url] }, ...more },
  });

  test("sessions from the pool have them, preloaded, on the path, and cannot change them", async () => {
    await using codecell = await open({ ...withTool({ preload: ["tool"] }), session: { pool: 1 } });
    await codecell.poolFilled();
    const session = await codecell.session();
    const code = `import sys, os
preloaded = "tool" in sys.modules
import tool
def attempt(way):
    try: way()
    except OSError: return False
    return True
directory = os.path.dirname(tool.__file__)
print(preloaded, attempt(lambda: open(tool.__file__, "a")), attempt(lambda: open(directory + "/x", "w")), directory in sys.path)`;
    expect(await session.run(code)).toMatchObject({ status: "ok", stdout: "True False False True\n" });
    const place = (await session.run("print(directory)")).stdout.trim();
    expect(place).toMatch(name === "srt" ? /packages\/sets\/[0-9a-f]{64}\/tree$/ : /^\/deps$/);
    if (name === "wasm") return;
    const shell = await session.run("tool-cmd && python3 -c 'import tool; tool.main()'", { language: "bash" });
    expect(shell).toMatchObject({ status: "ok", stdout: "ran\nran\n" });
  });

  // Only these cells share something that was started earlier.
  test.runIf(name === "process template")("a cell is never forked from a template with other packages", async () => {
    await using runner = make();
    const shared = (): SandboxRunner => ({
      ...{ name: runner.name, isolation: runner.isolation, takesWorkspace: true, insideSandbox: runner.insideSandbox },
      probe: (options) => runner.probe(options),
      plan: (policy) => runner.plan(policy),
      python: (policy) => runner.python?.(policy) ?? Promise.reject(new Error("no Python")),
      start: (spec, options) => runner.start(spec, options),
      async [Symbol.asyncDispose]() {},
    });
    // one policy, so one hash: only the set differs
    const policy = { kernel: { packages: { install: ["moving"], index: [index.url] }, preload: ["moving"] } };
    const versions: string[] = [];
    for (const version of ["1.0", "2.0"]) {
      index.add({ name: "moving", version, files: { "moving.py": `version = "${version}"\n` } });
      await removeTree(join(stateDir, "packages", "locks")); // resolves again
      await using codecell = await Codecell.open({ policy, runners: [shared()], stateDir });
      versions.push((await (await codecell.session()).run("import moving; print(moving.version)")).stdout);
    }
    expect(versions).toEqual(["1.0\n", "2.0\n"]);
  });

  // pid 1 of the cell is the supervisor; the worker, where programs run, has another number
  test.skipIf(name === "wasm" || (name === "gvisor" && !isThorough))(
    "a package with a module that the standard library looks for runs in no process of ours",
    async () => {
      const spy =
        "import builtins, os\nbuiltins.ran = getattr(builtins, 'ran', []) + [os.getpid()]\nraise ModuleNotFoundError\n";
      // subprocess, copy, platform and others try these on every system
      const modules = ["msvcrt", "_winapi", "org", "java", "_scproxy", "nt", "sitecustomize", "usercustomize"];
      const files = Object.fromEntries(modules.map((module) => [`${module}.py`, spy]));
      index.add({ name: "shadow", version: "1.0", files: { ...files, "shadow.py": spy, "x.pth": "import shadow\n" } });
      await using codecell = await open({
        kernel: { packages: { install: ["shadow"], index: [index.url] }, preload: ["copy", "platform", "subprocess"] },
      });
      const session = await codecell.session();
      const code = "import builtins, os; print({*getattr(builtins, 'ran', [])} - {os.getpid()})";
      expect(await session.run(code)).toMatchObject({ status: "ok", stdout: "set()\n" });
    },
  );

  test.runIf(["process template", "wasm", "docker"].includes(name))("a crash does not take them away", async () => {
    await using codecell = await open(withTool());
    const session = await codecell.session();
    const crash =
      name === "wasm" ? "import tool\nwhile True: pass" : "import tool, os, signal; os.kill(os.getpid(), 9)";
    await session.run(crash, { timeout: name === "wasm" ? "300ms" : "10s" });
    expect((await session.run("import tool; print(hasattr(tool, 'main'))")).stdout).toBe("True\n");
  });
});

test("packages that fail leave no half of a set", async () => {
  await using codecell = await Codecell.open({
    policy: { audit: { enabled: false }, kernel: { packages: { install: ["no-such"], index: [index.url] } } },
    stateDir,
    ...(tested[0] ? { runners: [(tested.find(({ isAbsent }) => !isAbsent) ?? tested[0]).make()] } : {}),
  });
  await expect(codecell.session()).rejects.toMatchObject({ code: "packages_failed" });
  const sets = await readdir(join(stateDir, "packages", "sets"));
  expect(sets.filter((set) => !/^[0-9a-f]{64}$/.test(set))).toEqual([]);
});
