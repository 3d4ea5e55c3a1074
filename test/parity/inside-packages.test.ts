import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { removeTree } from "../../src/lib/files/remove-tree.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import type { Session } from "../../src/sessions/session.ts";
import type { ContainersContext } from "../containers/setup.ts";
import { FakeAudit } from "../fakes/fake-audit.ts";
import { PackageIndex } from "../support/package-index.ts";
import { isMissing, tiers } from "../support/tiers.ts";

const tested = await Promise.all(tiers.map(async (tier) => ({ ...tier, isAbsent: await isMissing(tier) })));
const mountable = (inject("containers") as ContainersContext | undefined)?.mountable;

let stateDir: string;
let index: PackageIndex;
beforeAll(async () => {
  stateDir = await mkdtemp(join(mountable ?? tmpdir(), "codecell-inside-"));
  await chmod(stateDir, 0o711);
  index = await PackageIndex.start();
  index.add({
    ...{
      name: "top",
      version: "1.0",
      requires: ["below>=1"],
      files: { "top.py": "import below\nvalue = below.version\nclass Thing: pass\n" },
    },
    entries: [{ path: "top-1.0.dist-info/entry_points.txt", content: "[console_scripts]\ntop-cmd = top:print\n" }],
  });
  for (const version of ["1.0", "2.0"])
    index.add({ name: "below", version, files: { "below.py": `version = "${version}"\n` } });
  index.add({ name: "wants-new", version: "1.0", requires: ["below>=2"], files: { "wants_new.py": "" } });
  index.add({ name: "evil", version: "1.0", files: { "evil.py": "" } });
  index.add({ name: "uses-evil", version: "1.0", requires: ["evil"], files: { "uses_evil.py": "" } });
  index.add({ name: "large", version: "1.0", files: { "large.py": `text = "${"x".repeat(5 * 2 ** 20)}"\n` } });
});
afterAll(async () => {
  await index?.[Symbol.asyncDispose]();
  await removeTree(stateDir);
});

describe.each(tested.filter(({ isAbsent }) => !isAbsent))("pip install in a session of $name", ({ name, make }) => {
  const open = (packages: object, more: object = {}) =>
    Codecell.open({
      policy: {
        audit: { enabled: false },
        kernel: { packages: { index: [index.url], deny: ["evil"], ...packages } },
        ...more,
      },
      runners: [make()],
      stateDir,
    });

  describe("that may install", () => {
    let codecell: Codecell;
    let session: Session;
    beforeAll(async () => {
      codecell = await open({ inside: true });
      session = await codecell.session();
    });
    afterAll(() => codecell?.close());

    test("is refused for what the policy denies, what no index has, and options", async () => {
      const failing = async (words: string) => (await session.run(`%pip install ${words}`)).error;
      expect(await failing("evil")).toMatchObject({ name: expect.stringMatching(/PermissionError$/) });
      expect((await failing("uses-evil"))?.message).toContain("kernel.packages.deny forbids it");
      expect(await failing("no-such")).toMatchObject({ name: expect.stringMatching(/LookupError$/) });
      expect((await failing("--index-url http://127.0.0.1:1/ top"))?.message).toContain("is not available inside");
      expect((await failing("https://packages.example/top.whl"))?.message).toContain("not addresses or paths");
      expect((await session.run("import os; os.path.exists('.codecell-packages')")).value).toBe("False");
    });

    test("brings a package with what it needs, among other lines, and reports no files of the program", async () => {
      const before = await session.run(
        "text = '''\n!pip install evil\n'''\ntry: import top\nexcept ImportError: print('missing')",
      );
      expect(before).toMatchObject({ status: "ok", stdout: "missing\n" });
      const first = await session.run("x = 1\n%pip install -q top  # now\nimport top\nprint(top.value, x)");
      expect(first).toMatchObject({ status: "ok", stdout: "Successfully installed below-2.0 top-1.0\n2.0 1\n" });
      expect(first.artifacts ?? []).toEqual([]);
      for (const line of ["!pip install top", "!python3 -m pip install top", "pip_install(['top'])"])
        expect((await session.run(line)).stdout).toBe("Requirement already satisfied: top\n");
      expect((await session.run("text.strip()")).value).toBe("'!pip install evil'");
    });
  });

  test("does not change an installed version, and says so", async () => {
    await using codecell = await open({ inside: true, install: ["below==1.0"] });
    const session = await codecell.session();
    const conflict = await session.run("%pip install wants-new");
    expect(conflict.error?.message).toContain("below 1.0 is installed, and an installed version is never changed");
    const direct = await session.run("!pip install -U below==2.0");
    expect(direct.error?.message).toContain("below 1.0 is installed, and an installed version is never changed");
    expect((await session.run("%pip install top\nimport top; top.value")).value).toBe("'1.0'");
  });

  test("stays a syntax error where the policy is closed", async () => {
    await using codecell = await open({});
    const session = await codecell.session();
    expect((await session.run("%pip install top")).error?.name).toBe("SyntaxError");
    expect((await session.run("pip_install")).error?.name).toBe("NameError");
  });

  test.runIf(name.startsWith("process"))("comes back with a saved session, before its variables", async () => {
    const saved = { session: { persist: true } };
    await using first = await open({ inside: true }, saved);
    await (await first.session("kept")).run("%pip install top\nimport top; thing = top.Thing()");
    await first.close();
    await using second = await open({ inside: true }, saved);
    const session = await second.session("kept");
    expect((await session.run("type(thing).__module__")).value).toBe("'top'");
    await session.close({ forget: true });
  });

  test.runIf(name !== "wasm")("survives a crash, a reset, a fork and a rollback, and is there for shells", async () => {
    await using codecell = await open({ inside: true }, { session: { checkpoints: 1 } });
    const session = await codecell.session();
    await session.run("try: import top\nexcept ImportError: pass");
    await session.checkpoint("before");
    await session.run("%pip install top\nimport os, signal; os.kill(os.getpid(), 9)");
    const value = async (one = session) => (await one.run("import top; top.value")).value;
    expect(await value()).toBe("'2.0'");
    await session.rollback("before");
    expect(await value()).toBe("'2.0'");
    await session.reset();
    expect(await value()).toBe("'2.0'");
    expect(await value(await session.fork())).toBe("'2.0'");
    const shell = await session.run("top-cmd; python3 -c 'import top; print(top.value)'", { language: "bash" });
    expect(shell.stdout).toContain("2.0\n");
  });
});

const bounded = tested.filter(({ name, isAbsent }) => !isAbsent && ["process template", "wasm"].includes(name));

describe.each(bounded)("the bounds of pip install in $name", ({ name, make }) => {
  test("a file larger than a piece arrives whole, each call is recorded, and proc.disk is a limit", async () => {
    const audit = new FakeAudit();
    await using codecell = await Codecell.open({
      policy: { kernel: { packages: { index: [index.url], inside: true } } },
      ...{ runners: [make()], stateDir, audit },
    });
    const session = await codecell.session();
    expect((await session.run("%pip install large\nimport large; len(large.text)")).value).toBe(String(5 * 2 ** 20));
    const calls = audit.events.filter(({ type }) => type === "function.called");
    expect(calls.length).toBeGreaterThan(2);
    await using small = await Codecell.open({
      policy: {
        ...{ audit: { enabled: false }, proc: { disk: "1MiB" } },
        kernel: { packages: { index: [index.url], inside: true } },
      },
      ...{ runners: [make()], stateDir },
    });
    const refused = await (await small.session()).run("%pip install large");
    expect(refused.error?.message).toContain("proc.disk");
  });

  // the host decides, whichever runner asks it
  test.runIf(name === bounded[0]?.name)("hashes that the policy requires are not taken from a program", async () => {
    await using codecell = await Codecell.open({
      policy: {
        audit: { enabled: false },
        kernel: { packages: { index: [index.url], inside: true, hashes: true } },
      },
      ...{ runners: [make()], stateDir },
    });
    const hash = `sha256:${"0".repeat(64)}`;
    const refused = await (await codecell.session()).run(`pip_install(["top==1.0 --hash=${hash}"])`);
    expect(refused.error?.message).toMatch(/is not available inside a session|requires hashes/);
  });
});
