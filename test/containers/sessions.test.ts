import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { containerRunner, gvisorRunner } from "../../src/runners/container/runner.ts";
import type { Codecell } from "../../src/sessions/codecell.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { skipOrFail } from "../contract/required.ts";
import { codecell } from "../e2e/codecell-process.ts";
import { importHostPython } from "../support/host-python-image.ts";
import { newStateDir, openManager, removeStateDir, runIn } from "../support/managers.ts";
import { image, PrivateDocker, privateDockerProbe } from "../support/private-docker.ts";
import { eventually, within } from "../support/process-cells.ts";
import { stubborn } from "../support/stubborn.ts";
import { isThorough } from "../support/thorough.ts";

const skips = skipOrFail("container", privateDockerProbe());
const crash = "import os\nos._exit(9)";
const kinds = [
  { name: "container", make: containerRunner, lacks: false },
  { name: "gvisor", make: gvisorRunner, lacks: !skips && !PrivateDocker.hasGvisor },
] as const;

describe.skipIf(skips)("sessions in containers", () => {
  let docker: PrivateDocker;
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-sessions-"));
    await chmod(directory, 0o711);
    docker = await PrivateDocker.start();
  });
  afterAll(async () => {
    await docker?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  test("share one examination of their image, even across processes", async () => {
    const runtimeDir = await mkdtemp(join(directory, "fresh-"));
    await chmod(runtimeDir, 0o711);
    const stateDir = await newStateDir();
    const since = Date.now() / 1000;
    for (const id of ["one", "two"]) {
      const runners = [containerRunner({ engine: "docker", addresses: docker.addresses, image, runtimeDir })];
      await using manager = await openManager(stateDir, {}, { runners });
      expect(await runIn(await manager.session(id), "40 + 2")).toMatchObject({ value: "42" });
    }
    await removeStateDir(stateDir);
    const filters = JSON.stringify({ event: ["create"], type: ["container"] });
    const query = { since, until: Date.now() / 1000, filters };
    const events = (await docker.client.bytes({ path: "/events", query })).toString().trim().split("\n");
    expect(events).toHaveLength(3);
  });

  test("refuse bash with the reason in an image that has no bash", async () => {
    const name = "codecell-no-bash:latest";
    await importHostPython(docker.client, name, { programs: ["/bin/sh"] });
    const runner = containerRunner({
      engine: "docker",
      addresses: docker.addresses,
      image: name,
      runtimeDir: directory,
    });
    await using codecell = await LiveSessions.open({ policy: parsePolicy({}), runners: [runner] });
    await using session = await codecell.openSession();
    expect(session.languages).toEqual(["python"]);
    expect(() => session.run("echo hi", { language: "bash" })).toThrowError(
      expect.objectContaining({ code: "language_unavailable", hint: "this session runs python" }),
    );
    expect(await session.run("40 + 2")).toMatchObject({ status: "ok", value: "42" });
  });

  describe.each(kinds.filter(({ lacks }) => !lacks))("of the $name runner", ({ name, make }) => {
    let stateDir: string;
    const opened: Codecell[] = [];
    beforeAll(async () => {
      stateDir = await newStateDir();
    });
    afterAll(async () => {
      for (const manager of opened) await manager[Symbol.asyncDispose]();
      await vi.waitFor(async () => expect(await docker.containers()).toEqual([]), { timeout: 30_000 });
      await removeStateDir(stateDir);
    });
    let usual: Promise<Codecell> | undefined;
    /** For sessions without rules of their own. */
    const shared = () => {
      usual ??= open();
      return usual;
    };
    const open = async (session: PolicyInput["session"] = {}) => {
      const runners = [make({ engine: "docker", addresses: docker.addresses, image, runtimeDir: directory })];
      const manager = await openManager(stateDir, { session, proc: { timeout: "10s" } }, { runners });
      opened.push(manager);
      return manager;
    };

    test("restore checkpoints in any order, also after a crash and a killed run", async () => {
      const session = await (await shared()).session("checkpoints");
      for (const one of ["a", "b"]) {
        await runIn(session, `x = ["${one}"]`);
        await session.checkpoint(one);
      }
      for (const [back, then] of [
        ["a", "x.append('changed')"],
        ["b", crash],
        ["a", stubborn],
        ["b", "x.append('changed')"],
      ] as const) {
        await session.rollback(back);
        expect(await runIn(session, "x")).toMatchObject({ value: `['${back}']` });
        await runIn(session, then, { timeout: 500 });
      }
      await session.rollback("a");
      expect(await runIn(session, "x")).toMatchObject({ value: "['a']" });
      await session.close();
    });

    test("fork, and a crash of the fork or its parent does not affect the other", async () => {
      const manager = await shared();
      const before = (await docker.containers()).length;
      const parent = await manager.session("parent");
      await runIn(parent, "x = ['both']\nopen('shared.txt', 'w').write('shared')");
      const fork = await manager.fork("parent", "fork");
      for (const [one, other] of [
        [fork, parent],
        [parent, fork],
      ] as const) {
        expect(await runIn(one, crash)).toMatchObject({ status: "crashed", state: "recovered" });
        expect(await runIn(other, "x")).toMatchObject({ value: "['both']", notes: [] });
      }
      await runIn(fork, "x.append('fork')");
      await runIn(parent, "x.append('parent')");
      expect(await runIn(parent, "x")).toMatchObject({ value: "['both', 'parent']" });
      expect(await runIn(fork, "open('shared.txt').read()")).toMatchObject({ value: "'shared'" });
      expect(await docker.containers()).toHaveLength(before + 1);
      await manager.closeSession("parent");
      expect(await runIn(fork, "x")).toMatchObject({ value: "['both', 'fork']" });
      await fork.close();
    });

    test("are restored in another process with variables and files, and name what is missing", async () => {
      const first = await open({ persist: true });
      const code = "import threading\nx = [1, 2]\nlock = threading.Lock()\nopen('file.txt', 'w').write('file')";
      await runIn(await first.session("kept"), code);
      await first[Symbol.asyncDispose]();
      const next = await open({ persist: true });
      const result = await runIn(await next.get("kept"), "x, open('file.txt').read()");
      expect(result).toMatchObject({ status: "ok", value: "([1, 2], 'file')" });
      expect(result.notes.join("; ")).toMatch(/not restored: lock/);
    });

    test("report that their variables are lost when their container is removed between two runs", async () => {
      const others = new Set((await docker.containers()).map(({ Id }) => Id));
      const session = await (await shared()).session("victim");
      await runIn(session, "x = 1\nopen('kept.txt', 'w').write('file')");
      for (const { Id } of await docker.containers())
        if (!others.has(Id)) await docker.request("DELETE", `/containers/${Id}?force=1`);
      expect(await eventually(() => session.state !== "live")).toBe(true);
      const next = await runIn(session, "'x' in globals(), open('kept.txt').read()");
      expect(next).toMatchObject({ status: "ok", value: "(False, 'file')" });
      expect(next.notes.join()).toMatch(/variables/);
    });

    test("accept uploads from the host, and return files that a run made", async () => {
      const session = await (await shared()).session("victim"); // one that has nothing to do any more
      for (const { path } of (await session.listFiles()).files) await session.removeFile(path);
      await session.upload("given.txt", Buffer.from("given"));
      expect(await runIn(session, "open('given.txt').read()")).toMatchObject({ value: "'given'", artifacts: [] });
      const made = await runIn(
        session,
        "open('made.csv', 'w').write('x,y')\nimport os\nos.symlink('/etc/passwd', 'l')",
      );
      expect(made.artifacts).toMatchObject([{ name: "made.csv", size: 3 }]);
      const files = await session.files();
      expect(Buffer.from((await files.read("made.csv")).data).toString()).toBe("x,y");
      await expect(files.read("l")).rejects.toMatchObject({ code: "file_refused" });
      const bash = await runIn(session, "echo hi > shell.txt", { language: "bash" });
      expect(bash).toMatchObject({ status: "ok", artifacts: [{ name: "shell.txt" }] });
    });

    // The pool and the command line have no code for a runner: both are asked with Docker's own runtime.
    if (name === "gvisor" && !isThorough) return;

    test("come from a pool without a trace of waiting, and closing the pool removes their containers", async () => {
      const manager = await open({ pool: 1 });
      await within(30_000, manager.poolFilled());
      const session = await manager.session();
      expect(manager.poolStatistics).toMatchObject({ hits: 1 });
      expect(await session.variables()).toEqual([]);
      expect(await runIn(session, "import os\nos.listdir()")).toMatchObject({ value: "[]" });
    });

    test("keep variables and files from one call of `codecell run --session` to the next", async () => {
      const cwd = await mkdtemp(join(directory, "cli-"));
      await chmod(cwd, 0o711);
      await writeFile(join(cwd, "sandbox.policy.yaml"), `isolation:\n  runner: ${name}\nkernel:\n  image: ${image}\n`);
      const env = { XDG_STATE_HOME: join(cwd, "state"), DOCKER_HOST: docker.host };
      const call = (code: string) => codecell(["run", "--session", "keep", "-c", code], { cwd, env });
      expect(await call("x = 20\nopen('notes.txt', 'w').write('hi'); x")).toMatchObject({ code: 0, stdout: "20\n" });
      expect(await call("x * 2, open('notes.txt').read()")).toMatchObject({ code: 0, stdout: "(40, 'hi')\n" });
      expect(await readdir(join(cwd, "state"))).not.toEqual([]);
    });
  });
});
