import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeTree } from "../../src/lib/files/remove-tree.ts";
import { PackageIndex } from "../support/package-index.ts";
import { copyWasmRuntime } from "../support/wasm-runtime.ts";
import { codecellHere } from "./codecell-here.ts";
import { availableRunners, codecell } from "./codecell-process.ts";

const runners = await availableRunners();
const long = "a".repeat(64);
const homes: string[] = [];
/** A state directory that cells of root, which have another uid, can reach. */
async function openHome(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "codecell-home-"));
  homes.push(directory);
  await chmod(directory, 0o711);
  return directory;
}
let home: string;
let cwd: string;
let index: PackageIndex;

beforeAll(async () => {
  home = await openHome();
  await copyWasmRuntime(home);
  cwd = await mkdtemp(join(tmpdir(), "codecell-packages-"));
  index = await PackageIndex.start();
  index.add({
    name: "good",
    version: "1.0",
    requires: ["helper>=2"],
    files: { "good.py": "import helper\nname = 'good'\n" },
  });
  index.add({
    name: "good",
    version: "2.0",
    requires: ["helper>=2"],
    files: { "good.py": "import helper\nname = 'two'\n" },
  });
  index.add({
    name: "helper",
    version: "2.1",
    files: { "helper/__init__.py": "value = 21\n", "helper/data.txt": "x" },
  });
  index.add({ name: "old-helper", version: "1.0", requires: ["helper<2"] });
  index.add({ name: "badhash", version: "1.0", sha256: long });
  index.add({ name: "fresh", version: "1.0", uploadTime: new Date().toISOString() });
  index.addFile("source-only", { fileName: "source_only-1.0.tar.gz", content: Buffer.from("x") });
  index.add({ name: "native", version: "1.0", tag: "cp39-cp39-win_amd64" });
  index.add({
    name: "hooks",
    version: "1.0",
    files: {
      "hooks.py": "import builtins\nran = hasattr(builtins, 'pth_ran')\n",
      "hooks.pth": "import builtins; builtins.pth_ran = True\n",
      "sitecustomize.py": "import builtins; builtins.pth_ran = True\n",
    },
  });
});
afterAll(async () => {
  await index[Symbol.asyncDispose]();
  for (const directory of [...homes, cwd]) await removeTree(directory); // sets are read-only directories
});

const from = () => ["--index-url", index.url];
const start = (argv: readonly string[], env: Record<string, string> = {}) =>
  codecellHere(argv, { cwd, env: { XDG_STATE_HOME: home, ...env } });
const sets = async () => (await readdir(join(home, "codecell", "packages", "sets")).catch(() => [])).sort();

describe.each(runners)("codecell run with packages in the %s runner", (runner) => {
  const run = (...argv: string[]) => start(["run", "--runner", runner, ...from(), ...argv]);

  test("installs a package with its dependency, which the program can read and not change", async () => {
    const code = `import good, helper, hooks, os
directory = os.path.dirname(good.__file__)
through = []
for name, way in {
    "append": lambda: open(good.__file__, "a"), "beside": lambda: open(directory + "/new.py", "w"),
    "remove": lambda: os.remove(good.__file__), "in": lambda: open(directory + "/helper/new.py", "w"),
}.items():
    try: way(); through.append(name)
    except OSError: pass
print(good.name, helper.value, directory, through)
print("hooks ran:", hooks.ran)`;
    const needed = ["--with", "good==1.0", "--with", "hooks"];
    const first = await run(...needed, "-c", code);
    // neither a .pth file nor a sitecustomize of a wheel is executed
    const printed = expect.stringMatching(/^good 21 \S+ \[\]\nhooks ran: False\n$/);
    expect(first).toMatchObject({ code: 0, stdout: printed });
    if (runner !== "srt") expect(first.stdout).toContain(" /deps ");

    // the next run, in a process that knows nothing, needs no network
    index.forget();
    const argv = ["run", "--runner", runner, ...from(), ...needed, "--json", "-c", code];
    const second = await codecell(argv, { cwd, env: { XDG_STATE_HOME: home } });
    expect(second).toMatchObject({ code: 0, stderr: "" });
    expect(index.requests).toEqual([]);
    const { stdout, receipt } = JSON.parse(second.stdout);
    expect(stdout).toEqual(printed);
    const row = receipt.rules.find(({ rule }: { rule: string }) => rule === "kernel.packages");
    expect(row).toMatchObject({ by: "host", value: expect.stringMatching(/^good==1\.0, hooks; from http/) });
    expect(row.how).toMatch(/; installed: good 1\.0, helper 2\.1, hooks 1\.0$/);
  });

  test("a cell without packages has none", async () => {
    const finished = await run("-c", "import good");
    expect(finished.code).toBe(1);
    expect(finished.stderr).toMatch(
      /^codecell: no module good in this cell: add --with good, or name it in the policy/m,
    );
  });
});

describe("codecell run --with", () => {
  const run = (...argv: string[]) => start(["run", ...from(), ...argv]);

  test("what cannot be installed is refused with the reason, and the cache still serves what is in it", async () => {
    const good = ["--with", "good==1.0", "-c", "import good; good.name"];
    expect((await run(...good)).stdout).toBe("'good'\n");
    const before = await sets();
    for (const [name, reason] of [
      ["badhash", /sha256|hash/],
      ["source-only", /source|sdist/],
      ["native", /wheel/],
      ["unknown-name", /unknown-name/],
    ] as const) {
      const finished = await run("--with", name, "-c", "1");
      expect(finished, name).toMatchObject({ code: 4, stdout: "", stderr: expect.stringMatching(reason) });
      expect(await sets(), `${name} is not half installed`).toEqual(before);
    }
    expect((await run("--offline", ...good)).stdout).toBe("'good'\n");
  });

  test("versions that cannot be together name both who ask", async () => {
    const finished = await run("--with", "good==1.0", "--with", "old-helper", "-c", "1");
    expect(finished.code).toBe(4);
    expect(finished.stderr).toMatch(/helper/);
    expect(finished.stderr).toMatch(/good/);
    expect(finished.stderr).toMatch(/old-helper/);
  });

  test("the policy's rules about packages apply: denied, too new, without a hash", async () => {
    const policy = join(cwd, "rules.yaml");
    const withRules = async (rules: string, name: string) => {
      await writeFile(policy, `kernel: { packages: { ${rules} } }\n`);
      return run("--policy", policy, "--with", name, "-c", "1");
    };
    const denied = await withRules("deny: [helper]", "good");
    expect([denied.code, denied.stderr]).toEqual([
      expect.any(Number),
      expect.stringMatching(/helper.*denied|denies|deny/),
    ]);
    const tooNew = await withRules("minAge: 7d", "fresh");
    expect([tooNew.code, tooNew.stderr]).toEqual([4, expect.stringMatching(/minAge|new|young/)]);
    const bare = await withRules("hashes: true", "good==1.0");
    expect([bare.code, bare.stderr]).toEqual([expect.any(Number), expect.stringMatching(/hash/)]);
    for (const { code } of [denied, bare]) expect(code).not.toBe(0);
  });

  test("a word that is no requirement is a usage error", async () => {
    expect(await run("--with", "--pre", "-c", "1")).toMatchObject({ code: 2, stdout: "" });
    expect(await run("--with", "good ==", "-c", "1")).toMatchObject({ code: 2, stdout: "" });
    expect(await run("--requirements", "missing.txt", "-c", "1")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("missing.txt cannot be read: it does not exist"),
    });
  });

  test("packages and fs.deps together are refused with the way out", async () => {
    const policy = join(cwd, "deps.yaml");
    await writeFile(policy, `fs: { deps: ./ }\n`);
    const finished = await run("--policy", policy, "--with", "good", "-c", "1");
    expect(finished.code).toBe(3);
    expect(finished.stderr).toMatch(/both be at \/deps: mount the directory elsewhere with fs\.mounts/);
  });

  test("downloads are announced on stderr", async () => {
    const other = await openHome();
    const argv = ["run", ...from(), "--with", "helper", "-c", "1"];
    const finished = await codecell(argv, { cwd, env: { XDG_STATE_HOME: other } });
    expect(finished).toMatchObject({ code: 0, stderr: expect.stringMatching(/^codecell: downloading helper 2\.1/) });
  });
});

test("a requirements file, a script's header and the policy bring packages", async () => {
  await writeFile(join(cwd, "requirements.txt"), "# what it needs\ngood==1.0  # pinned\n");
  await writeFile(join(cwd, "main.py"), "import good\nprint(good.name)\n");
  const byFile = await start(["run", ...from(), "--requirements", "requirements.txt", "main.py"]);
  expect(byFile).toMatchObject({ code: 0, stdout: "good\n" });

  const header = '# /// script\n# requires-python = ">=3.9"\n# dependencies = ["good==2.0"]\n# ///\n';
  await writeFile(join(cwd, "script.py"), `${header}import good\nprint(good.name)\n`);
  expect(await start(["run", ...from(), "script.py"])).toMatchObject({ code: 0, stdout: "two\n" });
  await writeFile(join(cwd, "newer.py"), `${header.replace(">=3.9", ">=4")}1\n`);
  const newer = await start(["run", ...from(), "newer.py"]);
  expect(newer).toMatchObject({ code: 2, stderr: expect.stringMatching(/the script needs Python >=4/) });

  await writeFile(
    join(cwd, "sandbox.policy.yaml"),
    `kernel: { packages: { install: [good==1.0], index: ["${index.url}"] } }\n`,
  );
  expect(await start(["run", "main.py"])).toMatchObject({ code: 0, stdout: "good\n" });
  const clash = await start(["run", "--with", "good==2.0", "main.py"]);
  expect(clash.code).toBe(4);
  expect(clash.stderr).toMatch(/--with/);
  expect(clash.stderr).toMatch(/kernel\.packages/);
  await rm(join(cwd, "sandbox.policy.yaml"));
});

test("pip install in a session says how packages are installed", async () => {
  const typed = await codecell(["repl", ...from(), "--with", "good==1.0"], {
    cwd,
    env: { XDG_STATE_HOME: home },
    stdin: "import good; good.name\n%pip install helper\n!pip install helper\n",
  });
  expect(typed.stdout).toContain("'good'\n");
  expect(typed.stderr).toMatch(/start the repl with --with NAME/);
  const asCode = await start(["run", "-c", "%pip install helper"]);
  expect(asCode.stderr).toMatch(/start it with --with NAME or --requirements FILE/);
});
