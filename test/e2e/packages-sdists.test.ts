import { spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { removeTree } from "../../src/lib/files/remove-tree.ts";
import type { PackageProgress } from "../../src/packages/package-progress.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import type { CodecellOptions } from "../../src/sessions/codecell-options.ts";
import { newStateDir, openManager, runIn } from "../support/managers.ts";
import { PackageIndex } from "../support/package-index.ts";
import { sdistFile, tinyBackend } from "../support/packages/sdist.ts";
import type { WheelSpec } from "../support/packages/wheel.ts";
import { skipsProcess } from "../support/process-cells.ts";
import { testsContainersOnly } from "../support/tiers.ts";

let index: PackageIndex;
let stateDir: string;
beforeEach(async () => {
  index = await PackageIndex.start();
  stateDir = await newStateDir();
});
afterEach(async () => {
  await index[Symbol.asyncDispose]();
  await removeTree(stateDir);
});

/** A source distribution whose backend is the wheel `tiny` of the index. */
function addSource(name: string, { hook = "pass", requires = [] as string[], files = {}, pkgInfo = "" } = {}): void {
  if (!served.has(index))
    index.add({ name: "tiny", version: "1", files: { "tiny.py": tinyBackend("exec(open('hook.txt').read())") } });
  served.add(index);
  const content = sdistFile(`${name}-1.0`, {
    "project.txt": [name, "1.0", ...requires].join("\n"),
    "hook.txt": hook,
    "pyproject.toml": '[build-system]\nrequires = ["tiny"]\nbuild-backend = "tiny"\n',
    [`${name}.py`]: "value = 42\n",
    ...(pkgInfo === "" ? {} : { "PKG-INFO": pkgInfo }),
    ...files,
  });
  index.addFile(name, { fileName: `${name}-1.0.tar.gz`, content });
}
const served = new WeakSet<PackageIndex>();

interface Asked {
  readonly install: string;
  readonly sdists?: string[];
  readonly policy?: PolicyInput;
  readonly options?: Partial<CodecellOptions>;
}

/** The output of a program with a package, and what was reported while it was prepared. */
async function run(code: string, { install, sdists = ["*"], policy = {}, options = {} }: Asked) {
  const events: PackageProgress[] = [];
  const packages = { install: [install], index: [index.url], sdists };
  await using codecell = await openManager(
    stateDir,
    { ...policy, kernel: { packages } },
    { packages: { onProgress: (event) => events.push(event) }, ...options },
  );
  const result = await runIn(await codecell.session(), code);
  return {
    stdout: result.stdout,
    stderr: result.stderr,
    built: events.filter(({ kind }) => kind === "building").map(({ name }) => name),
  };
}
const failure = (message: RegExp, reason = "build") =>
  expect.objectContaining({ code: "packages_failed", details: { reason }, message: expect.stringMatching(message) });

describe.skipIf(skipsProcess)("a package with only a source distribution", () => {
  test("is built in a cell of its own, with its dependencies, and comes from the cache the second time", async () => {
    index.add({ name: "helper", version: "1", files: { "helper.py": "word = 'helped'\n" } });
    addSource("fresh", { requires: ["helper"] });
    const code = "import fresh, helper; print(fresh.value, helper.word)";
    expect(await run(code, { install: "fresh" })).toEqual({ stdout: "42 helped\n", stderr: "", built: ["fresh"] });
    index.forget();
    expect(await run(code, { install: "fresh" })).toEqual({ stdout: "42 helped\n", stderr: "", built: [] });
    expect(index.requests).toEqual([]);
    // another question about the same package builds nothing either
    expect(await run("import fresh; print(fresh.value)", { install: "fresh==1.0" })).toMatchObject({ built: [] });
  });

  test("is not built for a question that its own metadata answers with another version", async () => {
    const pkgInfo = "Metadata-Version: 2.2\nName: fresh\nVersion: 1.0\nRequires-Dist: missing\n";
    addSource("fresh", { pkgInfo, hook: "raise RuntimeError('built')" });
    await expect(run("1", { install: "fresh" })).rejects.toEqual(failure(/no package missing .*fresh 1\.0/, "unknown"));
  });

  test("is refused unless the policy names it, and nothing of it is downloaded", async () => {
    addSource("fresh");
    for (const sdists of [[], ["other", "fres"]])
      await expect(run("1", { install: "fresh", sdists })).rejects.toEqual(
        failure(/only a source distribution.*kernel\.packages\.sdists does not name it/, "no_version"),
      );
    expect(index.requests).toEqual(["/simple/fresh/", "/simple/fresh/"]);
  });

  test("a wheel that fits is used instead", async () => {
    addSource("fresh", { hook: "raise RuntimeError('built')" });
    index.add({ name: "fresh", version: "1.0", files: { "fresh.py": "value = 'wheel'\n" } });
    expect(await run("import fresh; print(fresh.value)", { install: "fresh" })).toMatchObject({ stdout: "wheel\n" });
  });

  test("a build that uses the network, the host's files or its neighbours gets nothing", async () => {
    const secret = join(stateDir, "secret.txt");
    const hook = `
import os, socket, sys
seen = []
def attempt(name, way):
    try: way(); seen.append(name)
    except (OSError, ImportError): pass
attempt("index", lambda: socket.create_connection(("127.0.0.1", ${new URL(index.origin).port}), 5))
attempt("secret", lambda: open(${JSON.stringify(secret)}, "w").write("x"))
attempt("etc", lambda: open("/etc/codecell-was-here", "w").write("x"))
attempt("deps", lambda: open("/deps/tiny.py", "a").write("x"))
attempt("fellow", lambda: __import__("fellow"))
sys.stderr.write("through:" + ",".join(seen) + "\\u001b[2J\\n")
raise RuntimeError("that is all")
`;
    addSource("rude", { hook });
    const error: Error = await run("1", { install: "rude" }).catch((reason) => reason);
    expect(error).toEqual(failure(/^rude-1\.0\.tar\.gz could not be built: .*\| through:\ufffd\[2J\n.*that is all/s));
    expect(error.message).not.toContain("\u001b");
    await expect(readFile(secret)).rejects.toThrow(/ENOENT/);
  });

  test("a build that never ends is stopped at the policy's time limit", async () => {
    addSource("slow", { hook: "print('starting', flush=True)\nwhile True: pass" });
    const policy = { proc: { timeout: "5s" } };
    await expect(run("1", { install: "slow", policy })).rejects.toEqual(
      failure(/^slow-1\.0\.tar\.gz could not be built: it timed out after 5s.*\| starting/s),
    );
  });

  test("closing the codecell ends a build, and leaves nothing of its cell", async () => {
    addSource("slow", { hook: "import time; time.sleep(600)" });
    const building = new EventEmitter();
    const started = once(building, "building");
    const onProgress = ({ kind }: PackageProgress) => building.emit(kind);
    const packages = { install: ["slow"], index: [index.url], sdists: ["slow"] };
    const codecell = await openManager(stateDir, { kernel: { packages } }, { packages: { onProgress } });
    const opening = expect(codecell.session()).rejects.toMatchObject({ code: expect.stringMatching(/closed|aborted/) });
    await started;
    await codecell.close();
    await opening;
    expect(await readdir(join(stateDir, "workspaces"))).toEqual([]);
  });

  test.each([
    ["name = 'numpy'", /left numpy-1\.0-py3-none-any\.whl, which is not fresh 1\.0/],
    ["version = '2.0'", /left fresh-2\.0-py3-none-any\.whl, which is not fresh 1\.0/],
    ["tag = 'py3-none-manylinux_2_17_x86_64'", /which is not for Python/],
    ["tag = 'cp27-cp27m-win32'", /which is not for Python/],
  ])("a build that sets %s is refused, and its wheel is not kept", async (hook, message) => {
    addSource("fresh", { hook });
    await expect(run("1", { install: "fresh" })).rejects.toEqual(failure(message));
    const kept = await readdir(join(stateDir, "packages", "wheels"));
    expect(kept.filter((name) => name.endsWith(".whl"))).toHaveLength(1); // the backend
    expect(kept.filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("what a backend asks for is resolved under the same rules, and mounted for the build", async () => {
    index.add({ name: "extra", version: "1", files: { "extra.py": "value = 7\n" } });
    const own = `${tinyBackend("import extra")}def get_requires_for_build_wheel(settings=None):\n    return ["extra"]\n`;
    const toml = '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n';
    addSource("fresh", { files: { "own.py": own, "pyproject.toml": toml } });
    const code = "import fresh; print(fresh.value)";
    expect(await run(code, { install: "fresh" })).toMatchObject({ stdout: "42\n", built: ["fresh", "fresh"] });
    expect(await run(code, { install: "fresh==1.0" })).toMatchObject({ stdout: "42\n", built: [] });
  });

  test("build requirements may be built once, and theirs must be wheels", async () => {
    const needing = (other: string) => ({
      files: { "pyproject.toml": `[build-system]\nrequires = ["tiny", "${other}"]\nbuild-backend = "tiny"\n` },
    });
    addSource("first", needing("second"));
    addSource("second");
    expect(await run("import first; print(first.value)", { install: "first" })).toMatchObject({
      ...{ stdout: "42\n", built: ["second", "first"] },
    });
    addSource("loop", needing("loop"));
    await expect(run("1", { install: "loop" })).rejects.toEqual(failure(/only a source distribution/, "no_version"));
  });
});

/** The machine's own setuptools and wheel, offered as wheels; undefined: it has none. */
function machineSetuptools(): boolean {
  const question = `import json, os, setuptools, wheel
def tree(root, name):
    found = {}
    for at, _, files in os.walk(os.path.join(root, name)):
        for one in files:
            path = os.path.join(at, one)
            if one.endswith((".py", ".txt")): found[os.path.relpath(path, root)] = open(path, errors="replace").read()
    return found
def offer(module, *names):
    root = os.path.dirname(os.path.dirname(module.__file__))
    version = module.__version__
    files = {path: text for name in names for path, text in tree(root, name).items()}
    points = os.path.join(root, module.__name__ + "-" + version + ".egg-info", "entry_points.txt")
    if not os.path.exists(points): points = points.replace(".egg-info", ".dist-info")
    files[module.__name__ + "-" + version + ".dist-info/entry_points.txt"] = open(points).read()
    return {"name": module.__name__, "version": version, "files": files}
print(json.dumps([offer(setuptools, "setuptools", "pkg_resources", "_distutils_hack"), offer(wheel, "wheel")]))`;
  const asked = spawnSync("/usr/bin/python3", ["-c", question], {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    timeout: 30_000,
  });
  if (asked.status !== 0) return false;
  for (const offered of JSON.parse(asked.stdout) as WheelSpec[]) index.add(offered);
  return true;
}

describe.skipIf(skipsProcess)("a source distribution with a setup.py", () => {
  test("is built by setuptools from the index", async ({ skip }) => {
    if (!machineSetuptools()) skip("this machine's Python has no setuptools and wheel");
    const setup = "from setuptools import setup\nsetup(name='classic', version='1.0', py_modules=['classic'])\n";
    const content = sdistFile("classic-1.0", { "setup.py": setup, "classic.py": "value = 'made'\n" });
    index.addFile("classic", { fileName: "classic-1.0.tar.gz", content });
    const made = await run("import classic; print(classic.value)", { install: "classic" });
    expect(made).toMatchObject({ stdout: "made\n" });
  });
});

describe.skipIf(testsContainersOnly)("a source distribution for the wasm runner", () => {
  test("is built there if its backend is pure Python", async () => {
    addSource("fresh");
    const asked = { install: "fresh", options: { runners: [wasmRunner()] } };
    expect(await run("import fresh; print(fresh.value)", asked)).toMatchObject({ stdout: "42\n", built: ["fresh"] });
  });
});
