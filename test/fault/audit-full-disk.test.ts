import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { auditDirectory, filePath, listChains, listFiles } from "../../src/audit/chain/chain-files.ts";
import { readAudit } from "../../src/audit/read.ts";
import { verifyAudit } from "../../src/audit/verify.ts";
import type { Logger } from "../../src/lib/log/logger.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { openAudit } from "../../src/sessions/open-audit.ts";
import { checkpoint, openLog, writeEvents } from "../support/audit-logs.ts";
import { newStateDir, openManager, removeStateDir, runIn } from "../support/managers.ts";
import { skipsProcess } from "../support/process-cells.ts";
import { noSmallDisk, smallDisk } from "../support/small-disk.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

describe.skipIf(noSmallDisk !== undefined)(`a full disk${noSmallDisk ? `: ${noSmallDisk}` : ""}`, () => {
  let disk: Awaited<ReturnType<typeof smallDisk>>;
  let dir: string;
  beforeEach(async () => {
    disk = await smallDisk("256k");
    dir = auditDirectory(disk.path);
  });
  afterEach(() => disk[Symbol.asyncDispose]());

  const filler = () => join(disk.path, "filler");
  /** Fills the disk to the last byte. */
  async function fill(): Promise<void> {
    const file = await open(filler(), "a");
    try {
      for (;;) await file.write(Buffer.alloc(1024));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    } finally {
      await file.close();
    }
  }
  const free = () => rm(filler());

  async function types(): Promise<string[]> {
    const found: string[] = [];
    for await (const { event } of readAudit(dir)) found.push(event.type);
    return found;
  }

  function listening(): Logger & { readonly said: string[] } {
    const said: string[] = [];
    const say = (message: string) => void said.push(message);
    return { said, debug: say, info: say, warn: say, error: say };
  }

  describe.skipIf(skipsProcess)("under a session", () => {
    let stateDir: string;
    beforeEach(async () => {
      stateDir = await newStateDir();
    });
    afterEach(() => removeStateDir(stateDir));

    test("with a durable audit refuses every run until there is space again", async () => {
      const policy = { audit: { durable: true } };
      const audit = openAudit(parsePolicy(policy), { stateDir: disk.path });
      await using manager = await openManager(stateDir, policy, { audit });
      const session = await manager.session("work");
      expect(await runIn(session, "x = 1")).toMatchObject({ status: "ok" });
      await fill();
      // What fits into the last page is still written.
      const refused = await untilRefused(() => runIn(session, `x += 1 # ${"-".repeat(5_000)}`));
      expect(refused).toMatchObject({ code: "audit_failed", message: expect.stringContaining("no space left") });
      const ran = (await types()).filter((type) => type === "run.ended").length;
      await free();
      expect(await runIn(session, "x")).toMatchObject({ status: "ok", value: String(ran) });
      expect((await verifyAudit(dir)).problems).toEqual([]);
    });

    test("with a durable audit withholds the result of a run during which it filled up", async () => {
      const policy = { audit: { durable: true } };
      const audit = openAudit(parsePolicy(policy), { stateDir: disk.path });
      await using manager = await openManager(stateDir, policy, { audit });
      const session = await manager.session("work");
      const run = session.run(
        "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nfor n in range(60): open(f'{n:0200}', 'w')",
      );
      for await (const event of run) if (event.type === "stdout") break;
      await fill();
      // Not by an upload, which the audit would have to record.
      const files = await session.files();
      await files.write("go", Buffer.from("x"), { maxBytes: 10 });
      await expect(run).rejects.toMatchObject({ code: "audit_failed" });
      await free();
      expect(await runIn(session, "1")).toMatchObject({ status: "ok" });
      expect((await verifyAudit(dir)).problems).toEqual([]);
    });

    test("without a durable audit allows runs, and their events are written once there is space again", async () => {
      const logger = listening();
      const audit = openAudit(parsePolicy({}), { stateDir: disk.path, logger });
      await using manager = await openManager(stateDir, {}, { audit });
      const session = await manager.session("work");
      await runIn(session, "x = 0");
      await audit.settled();
      await fill();
      for (let n = 0; n < 20; n++) {
        expect(await runIn(session, `x += 1 # ${"-".repeat(1_000)}`)).toMatchObject({ status: "ok" });
      }
      await expect(audit.settled()).rejects.toMatchObject({ code: "audit_failed" });
      await free();
      await audit.settled();
      expect((await types()).filter((type) => type === "run.ended")).toHaveLength(21);
      expect(await verifyAudit(dir)).toMatchObject({ isSound: true, chains: [{ lostEvents: 0, tornParts: 0 }] });
      expect(logger.said).toEqual([
        expect.stringMatching(/^the audit log cannot be written: .*no space left/),
        "the audit log can be written again",
      ]);
    });
  });

  test("from the start leads to one valid chain once there is space again", async () => {
    await fill();
    const log = openLog(dir, { durable: true });
    log.record(checkpoint("a".repeat(10_000)));
    await expect(log.settled()).rejects.toMatchObject({ code: "audit_failed" });
    await free();
    await log.settled();
    await log[Symbol.asyncDispose]();
    expect(await listChains(dir)).toHaveLength(1);
    expect((await verifyAudit(dir)).problems).toEqual([]);
  });

  test("does not break the chain of a process that was killed in the middle of a line", async () => {
    await writeFile(filler(), Buffer.alloc(100 * 1024));
    await writeEvents(dir, ["before"]);
    const program = `
      import { AuditLog } from ${JSON.stringify(join(root, "dist/audit/log.js"))};
      const log = new AuditLog({ dir: ${JSON.stringify(dir)}, durable: true, keepBytes: 2 ** 30, keepMs: 1e9 });
      for (;;) {
        log.record({ type: "session.checkpoint", session: "s", name: "x".repeat(3000) });
        await log.settled().catch(() => process.stdout.write("full"));
      }`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "close");
    const [chain = ""] = await listChains(dir);
    const file = filePath(dir, chain, (await listFiles(dir, chain)).at(-1) ?? 0);
    const left = await readFile(file);
    expect(left.at(-1)).not.toBe(10);
    expect((await verifyAudit(dir)).chains).toMatchObject([{ tornEndBytes: expect.any(Number) }]);

    // The disk is still full: the verifier reports the torn line, and nothing on disk changes.
    const log = openLog(dir, { durable: true });
    log.record(checkpoint("still full"));
    await expect(log.settled()).rejects.toMatchObject({ code: "audit_failed" });
    await log[Symbol.asyncDispose]();
    expect((await stat(file)).size).toBeGreaterThanOrEqual(left.length);
    expect((await readFile(file)).subarray(0, left.length)).toEqual(left);

    await free();
    await writeEvents(dir, ["after"]);
    const { problems, chains } = await verifyAudit(dir);
    expect(problems).toEqual([]);
    expect(chains).toMatchObject([{ tornParts: 1 }]);
  });
});

async function untilRefused(run: () => Promise<unknown>): Promise<unknown> {
  for (let n = 0; n < 10; n++) {
    try {
      await run();
    } catch (error) {
      return error;
    }
  }
  return undefined;
}
