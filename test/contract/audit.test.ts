import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { auditDirectory } from "../../src/audit/chain/chain-files.ts";
import { verifyAudit } from "../../src/audit/verify.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import type { Codecell } from "../../src/sessions/codecell.ts";
import { openAudit } from "../../src/sessions/open-audit.ts";
import { FakeAudit } from "../fakes/fake-audit.ts";
import { lastFile } from "../support/audit-logs.ts";
import { newStateDir, openManager, removeStateDir, runIn } from "../support/managers.ts";
import { skipsProcess } from "../support/process-cells.ts";

describe.skipIf(skipsProcess)("the audit of a codecell", () => {
  let stateDir: string;
  let audit: FakeAudit;
  let manager: Codecell;
  beforeEach(async () => {
    stateDir = await newStateDir();
    audit = new FakeAudit();
  });
  afterEach(async () => {
    await manager[Symbol.asyncDispose]();
    await removeStateDir(stateDir);
  });
  const open = async (policy: PolicyInput = {}) => {
    manager = await openManager(stateDir, { proc: { timeout: "10s" }, ...policy }, { audit });
    return manager;
  };

  test("records CPU time, memory and changed files of each run", async () => {
    const session = await (await open()).session("work");
    await runIn(session, "open('out.txt', 'w').write('hello')\nsum(i * i for i in range(2_000_000))");
    await runIn(session, "1");
    await manager.closeSession("work");
    const [first, second] = audit.of("run.ended");
    expect(first).toMatchObject({ session: "work", run: 1, status: "ok", files: [{ name: "out.txt", size: 5 }] });
    if (first?.cpuMs !== undefined) {
      expect(first.cpuMs).toBeGreaterThan(second?.cpuMs ?? 0);
      expect(first.peakMemoryBytes).toBeGreaterThan(2 ** 20);
    }
    expect(audit.types().at(-1)).toBe("session.closed");
  });

  test("records the end of a run before any later event", async () => {
    const session = await (await open()).session("work");
    for (let n = 0; n < 20; n++) await runIn(session, "1");
    await session.checkpoint("here");
    await manager.closeSession("work");
    const runs = Array.from({ length: 20 }, () => ["run.started", "run.ended"]).flat();
    expect(audit.types()).toEqual(["session.opened", ...runs, "session.checkpoint", "session.closed"]);
  });

  test("records uploads and downloads with real paths and hashes, and refused ones", async () => {
    const data = join(stateDir, "data");
    await mkdir(data);
    await writeFile(join(data, "in.csv"), "a,b\n");
    await writeFile(join(data, ".env"), "KEY=1\n");
    const session = await (await open({ fs: { load: [data] } })).session("files");
    await session.load(join(data, "in.csv"), "text");
    await expect(session.load(join(data, ".env"), "env")).rejects.toMatchObject({ code: "file_refused" });
    await session.upload("up/x.bin", Buffer.from("abc"));
    await session.upload(
      "y.bin",
      (async function* () {
        yield Buffer.from("a");
        yield Buffer.from("bc");
      })(),
    );
    const files = await session.files();
    await files.read("up/x.bin", { start: 1 });
    await files.list();
    const sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    expect(audit.events.filter(({ type }) => type.startsWith("file."))).toEqual([
      {
        ...{ type: "file.loaded", session: "files", path: join(data, "in.csv"), variable: "text", bytes: 4 },
        sha256: expect.any(String),
      },
      { type: "file.denied", session: "files", path: join(data, ".env"), code: "file_refused", rule: "fs.deny" },
      { type: "file.uploaded", session: "files", path: "up/x.bin", bytes: 3, sha256 },
      { type: "file.uploaded", session: "files", path: "y.bin", bytes: 3, sha256 },
      { type: "file.downloaded", session: "files", path: "up/x.bin", start: 1, bytes: 2, size: 3 },
    ]);
  });

  test("records forks, checkpoints, rollbacks, resets and recoveries", async () => {
    const session = await (await open()).session("a");
    await session.checkpoint("before");
    await runIn(session, "import os\nos.kill(os.getpid(), 9)");
    await session.rollback("before");
    await session.reset();
    await manager.fork("a", "b");
    await manager.closeSession("b");
    const types = ["session.opened", "session.checkpoint", "run.started", "run.ended", "session.recovered"];
    expect(audit.types()).toEqual([...types, "session.rollback", "session.reset", "session.opened", "session.closed"]);
    expect(audit.of("session.opened")).toMatchObject([
      { session: "a", origin: "new" },
      { session: "b", origin: "fork", from: "a" },
    ]);
    expect(audit.of("session.recovered")).toMatchObject([{ session: "a", run: 1, state: "recovered", recoveredTo: 0 }]);
  });

  test("records why a session expired, and a restored session continues to count its runs", async () => {
    await open({ session: { persist: true } });
    await runIn(await manager.session("kept"), "x = 1\nf = lambda: 1");
    await manager[Symbol.asyncDispose]();
    expect(audit.isDisposed).toBe(true);
    expect(audit.of("session.closed")).toMatchObject([{ session: "kept", isKept: true }]);
    await open({ session: { persist: true, idle: "250ms" } });
    expect(await runIn(await manager.session("kept"), "x")).toMatchObject({ value: "1" });
    await expect.poll(() => audit.of("session.closed").length, { timeout: 30_000 }).toBe(2);
    expect(audit.of("session.opened")).toMatchObject([{ origin: "new" }, { origin: "saved" }]);
    expect(audit.of("session.restored")).toMatchObject([{ session: "kept", fromRun: 1, missing: ["f"] }]);
    expect(audit.of("run.started")).toMatchObject([{ run: 1 }, { run: 2 }]);
    expect(audit.of("session.closed")[1]?.why).toContain("session.idle");
  });
});

describe.skipIf(skipsProcess)("the audit on disk", () => {
  test("has the events before the result is returned, without values of environment variables", async () => {
    const stateDir = await newStateDir();
    try {
      const policy: PolicyInput = { audit: { durable: true }, env: { API_KEY: "hunter2hunter2" } };
      const audit = openAudit(parsePolicy(policy), { stateDir });
      await using manager = await openManager(stateDir, policy, { audit });
      const session = await manager.session("work");
      expect(await runIn(session, "import os\nopen(os.environ['API_KEY'], 'w')\n'hunter2hunter2'")).toMatchObject({
        status: "ok",
      });
      const text = await readFile(await lastFile(auditDirectory(stateDir)), "utf8");
      expect(text).toContain('"type":"run.ended"');
      expect(text).toContain('"name":"[env API_KEY]"');
      expect(text).not.toContain("hunter2");
      expect(await verifyAudit(auditDirectory(stateDir))).toMatchObject({ isSound: true, chains: [{ isLive: true }] });
    } finally {
      await removeStateDir(stateDir);
    }
  });
});
