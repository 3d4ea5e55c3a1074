import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentAudit } from "../../src/audit/audit.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import { borrowedRunner } from "../../src/sessions/packages/build-cell.ts";
import { newStateDir, removeStateDir } from "../support/managers.ts";
import { skipsProcess } from "../support/process-cells.ts";

let stateDir: string;
beforeEach(async () => {
  stateDir = await newStateDir();
});
afterEach(() => removeStateDir(stateDir));

describe.skipIf(skipsProcess)("the public API with the process runner", () => {
  /** One for all tests: it looks for bubblewrap and Python once. */
  const shared = processRunner();
  afterAll(() => shared[Symbol.asyncDispose]());
  const runners = [borrowedRunner(shared)];
  const open = (policy = {}) => Codecell.open({ policy, runners, stateDir });

  test("one Session class can run, fork, roll back and close", async () => {
    await using codecell = await open();
    const session = await codecell.session("analysis");
    expect(await session.run("rows = 3\nrows * 14")).toMatchObject({ status: "ok", value: "42" });
    await session.checkpoint("clean");
    await using twin = await session.fork();
    expect(await twin.run("rows += 1\nrows")).toMatchObject({ value: "4" });
    await session.run("rows = 0");
    await session.rollback("clean");
    expect(await session.get("rows")).toBe(3);
    expect(session.checkpoints.map(({ name }) => name)).toEqual(["clean"]);
    expect(await session.languages()).toEqual(["python", "bash"]);
    expect((await session.usage()).peakMemoryBytes).toBeGreaterThan(0);
    expect((await session.receipt()).rules.find(({ rule }) => rule === "session.idle")).toMatchObject({ by: "host" });
  });

  test("files that a run makes are artifacts that the host can read", async () => {
    // a relative state directory is one of this process, not of the cell
    await using codecell = await Codecell.open({ runners, stateDir: relative("", stateDir) });
    const session = await codecell.session();
    const { artifacts } = await session.run("open('out.txt', 'w').write('hello')");
    expect(artifacts).toMatchObject([{ name: "out.txt", size: 5 }]);
    expect((await session.artifacts()).artifacts).toMatchObject([
      { name: "out.txt", mimeType: expect.stringContaining("text/plain") },
    ]);
    expect(Buffer.from((await (await session.files()).read("out.txt")).data).toString()).toBe("hello");
  });

  test("a timeout is a duration string or milliseconds, and anything else is refused", async () => {
    await using codecell = await open();
    const session = await codecell.session();
    expect(await session.run("while True: pass", { timeout: "200ms" })).toMatchObject({
      status: "timeout",
      state: "kept",
    });
    expect(await session.run("while True: pass", { timeout: 200 })).toMatchObject({ status: "timeout" });
    await expect(session.run("1", { timeout: "soon" })).rejects.toMatchObject({ code: "usage" });
    await expect(session.run("1", { timeout: -1 })).rejects.toMatchObject({ code: "usage" });
  });

  test("closing a session twice is safe, and closing the Codecell closes the others", async () => {
    const codecell = await open();
    const [one, two] = [await codecell.session("one"), await codecell.session("two")];
    await Promise.all([one.close(), one.close()]);
    await one[Symbol.asyncDispose]();
    await expect(one.run("1")).rejects.toMatchObject({ code: "session_closed" });
    await codecell.close();
    await expect(two.run("1")).rejects.toMatchObject({ code: "session_closed" });
    await expect(codecell.session()).rejects.toMatchObject({ code: "session_closed" });
    expect(await readdir(join(stateDir, "workspaces"))).toEqual([]);
  });

  test("a policy path is read from disk, and its audit settings apply", async () => {
    const file = join(stateDir, "sandbox.policy.yaml");
    await writeFile(file, "proc: { timeout: 7s }\n");
    const codecell = await Codecell.open({ policy: file, runners, stateDir });
    expect(codecell.policy.proc.timeoutMs).toBe(7_000);
    await (await codecell.session()).run("1");
    await codecell.close();
    expect((await readdir(join(stateDir, "audit"))).length).toBeGreaterThan(0);
  });

  test.skipIf(process.getuid?.() !== 0)(
    "a private state directory is refused to root only if sessions are kept in it",
    async () => {
      await mkdir(join(stateDir, "private"), { mode: 0o700 }); // root's cells run under another uid and cannot enter it
      const inside = { runners, stateDir: join(stateDir, "private", "state") };
      await using codecell = await Codecell.open(inside);
      expect(await (await codecell.session()).run("open('f', 'w').write('x')")).toMatchObject({
        status: "ok",
        value: "1",
      });
      const kept = Codecell.open({ ...inside, policy: { session: { persist: true } } });
      await expect(kept).rejects.toMatchObject({ code: "usage", hint: expect.stringContaining("chmod o+x") });
    },
  );

  test("a workspace that contains the audit directory is refused", async () => {
    await expect(open({ fs: { workspace: stateDir } })).rejects.toMatchObject({ code: "policy_refused" });
  });

  test("with the audit turned off, the receipt says that nobody enforces it", async () => {
    await using codecell = await Codecell.open({ runners, stateDir, audit: silentAudit });
    const { receipt } = await (await codecell.session()).run("1");
    const audit = receipt.rules.filter(({ rule }) => rule.startsWith("audit."));
    expect(audit.map(({ by }) => by)).toEqual(audit.map(() => "nobody"));
  });
});

describe("the public API with the wasm runner", () => {
  test("unsupported calls are refused with the reason, and files work", async () => {
    await using codecell = await Codecell.open({ runners: [wasmRunner()], stateDir });
    const session = await codecell.session();
    await session.upload("in.txt", Buffer.from("hello"));
    const { value, artifacts } = await session.run("text = open('in.txt').read()\nopen('out.txt', 'w').write(text)");
    expect([value, artifacts.map(({ name }) => name)]).toEqual(["5", ["out.txt"]]);
    await expect(session.fork()).rejects.toMatchObject({
      code: "not_supported",
      message: expect.stringContaining("wasm"),
    });
    await expect(session.checkpoint("x")).rejects.toMatchObject({ code: "not_supported" });
  });
});
