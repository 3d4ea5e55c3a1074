import { appendFile, type FileHandle, open, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  checkpoint,
  eventsIn,
  lastFile,
  newAuditDir,
  onlyChain,
  openLog,
  writeEvents,
} from "../../test/support/audit-logs.ts";
import type { Logger } from "../lib/log/logger.ts";
import { filePath, headPath, listChains, listFiles, readHead } from "./chain/chain-files.ts";
import { ChainWriter } from "./chain/chain-writer.ts";
import { type AuditEvent, auditEventSchema } from "./event.ts";
import type { AuditLog } from "./log.ts";
import { verifyAudit } from "./verify.ts";

const hourMs = 3_600_000;

let place: Awaited<ReturnType<typeof newAuditDir>>;
let dir: string;
beforeEach(async () => {
  place = await newAuditDir();
  dir = place.path;
});
afterEach(async () => {
  vi.restoreAllMocks();
  await place[Symbol.asyncDispose]();
});

const types = async () => (await eventsIn(await lastFile(dir))).map(({ type }) => type);

test("an audit log without events creates no files", async () => {
  await openLog(dir)[Symbol.asyncDispose]();
  await expect(stat(dir)).rejects.toMatchObject({ code: "ENOENT" });
});

test("only its owner can read the audit log", async () => {
  await writeEvents(dir, ["a"]);
  const modes = await Promise.all(
    [dir, join(dir, await onlyChain(dir)), await lastFile(dir)].map((path) => stat(path)),
  );
  expect(modes.map(({ mode }) => (mode & 0o777).toString(8))).toEqual(["700", "700", "600"]);
});

test("consecutive processes continue the same audit chain", async () => {
  await writeEvents(dir, ["a"]);
  await writeEvents(dir, ["b"]);
  expect(await types()).toEqual([
    ...["audit.opened", "session.checkpoint", "audit.closed"],
    ...["audit.opened", "session.checkpoint", "audit.closed"],
  ]);
  expect((await verifyAudit(dir)).isSound).toBe(true);
});

test("settled() resolves again whenever it is called after the last write", async () => {
  await using log = openLog(dir, { durable: true });
  for (let ticks = 0; ticks < 20; ticks++) {
    log.record(checkpoint(`t${ticks}`));
    await log.settled();
    for (let tick = 0; tick < ticks; tick++) await undefined;
    await log.settled();
  }
});

test("settled() resolves when the events are in the file and in the head", async () => {
  await using log = openLog(dir);
  for (let n = 0; n < 1000; n++) log.record(checkpoint(`n${n}`));
  await log.settled();
  const events = await eventsIn(await lastFile(dir));
  expect(events.slice(1).map(({ name }) => name)).toEqual(Array.from({ length: 1000 }, (_, n) => `n${n}`));
  expect(await readHead(dir, await onlyChain(dir))).toMatchObject({ seq: 1001 });
  for (const event of events) expect(auditEventSchema.safeParse(event).success).toBe(true);
});

test("an event that is known later is written at its reserved position, and settled() waits for it", async () => {
  await using log = openLog(dir);
  let resolve = (_events: AuditEvent[]) => {};
  const later = new Promise<AuditEvent[]>((known) => {
    resolve = known;
  });
  log.record(checkpoint("first"));
  log.recordLater(later);
  log.record(checkpoint("last"));
  let isSettled = false;
  const settled = log.settled().then(() => {
    isSettled = true;
  });
  await expect.poll(async () => (await eventsIn(await lastFile(dir))).length).toBe(2);
  expect(isSettled).toBe(false);
  resolve([checkpoint("second"), checkpoint("third")]);
  await settled;
  const names = (await eventsIn(await lastFile(dir))).map(({ name }) => name);
  expect(names).toEqual([undefined, "first", "second", "third", "last"]);
});

test("a reserved event that never comes counts as lost", async () => {
  const log = openLog(dir);
  log.recordLater(Promise.reject(new Error("gone")));
  log.record(checkpoint("next"));
  await log[Symbol.asyncDispose]();
  expect(await verifyAudit(dir)).toMatchObject({ isSound: true, chains: [{ lostEvents: 1 }] });
});

test("long code that comes faster than it can be written is dropped, and no event is lost", async () => {
  const begun = (run: number): AuditEvent => {
    const facts = { session: "s-1", run, language: "python", runner: "process", timeoutMs: 1, codeBytes: 60_000 };
    const code = "#".repeat(60_000);
    return { type: "run.started", ...facts, policy: "0".repeat(64), codeHash: "0".repeat(64), code };
  };
  const log = openLog(dir, { maxQueuedBytes: 400_000 });
  for (let run = 1; run <= 40; run++) log.record(begun(run));
  log.record(checkpoint("of another session"));
  await log[Symbol.asyncDispose]();
  expect(await verifyAudit(dir)).toMatchObject({ isSound: true, chains: [{ lostEvents: 0 }] });
  const events = await eventsIn(await lastFile(dir));
  expect(events.filter(({ code }) => code !== undefined)).toHaveLength(3);
  expect(events.filter(({ isCodeCut }) => isCodeCut === true)).toHaveLength(37);
  expect(events.at(-2)).toMatchObject({ name: "of another session" });
});

test("settled() with nothing to write resolves at once", async () => {
  await using log = openLog(dir);
  await log.settled();
  expect(await listChains(dir)).toEqual([]);
});

test("an audit log works in a state directory with a very long path", async () => {
  const deep = join(dir, "x".repeat(200));
  await writeEvents(deep, ["a"]);
  await using first = openLog(deep);
  first.record(checkpoint("b"));
  await first.settled();
  await writeEvents(deep, ["c"]);
  expect(await listChains(deep)).toHaveLength(2);
});

test("the values of environment variables are replaced by their names in events", async () => {
  await writeEvents(dir, ["key hunter2hunter2 end", "UTC"], { env: { API_KEY: "hunter2hunter2", TZ: "UTC" } });
  const text = await readFile(await lastFile(dir), "utf8");
  expect(text).not.toContain("hunter2hunter2");
  expect(text).toContain('"name":"key [env API_KEY] end"');
  expect(text).toContain('"name":"UTC"');
});

describe("the audit log after a crash", () => {
  /** Truncates the file as if the process was killed while it wrote the line. */
  async function tear(bytes: number): Promise<string> {
    await writeEvents(dir, ["a"]);
    const file = await lastFile(dir);
    const line = (await readFile(file, "utf8")).split("\n")[1] ?? "";
    const rest = line.slice(0, bytes);
    await appendFile(file, rest);
    return rest;
  }

  test.each([1, 20, 150])("keeps and records a line torn after %i bytes, and continues the chain", async (bytes) => {
    const rest = await tear(bytes);
    expect((await verifyAudit(dir)).problems).toMatchObject([{ line: 4, message: expect.stringContaining("is torn") }]);
    await writeEvents(dir, ["b"]);
    expect(await readFile(await lastFile(dir), "utf8")).toContain(`\n${rest}\n`);
    const events = await eventsIn(await lastFile(dir));
    expect(events[3]).toMatchObject({ type: "audit.torn", bytes });
    expect(await verifyAudit(dir)).toMatchObject({ isSound: true, chains: [{ tornParts: 1 }] });
  });

  test("detects a later change to the rest of a torn line", async () => {
    await tear(30);
    await writeEvents(dir, ["b"]);
    const file = await lastFile(dir);
    const text = await readFile(file, "utf8");
    const lines = text.split("\n");
    const rest = lines[3] ?? "";
    for (const changed of [`${rest}x`, rest.slice(1), `x${rest.slice(1)}`, `${rest.slice(0, -1)}x`]) {
      await writeFile(file, lines.with(3, changed).join("\n"));
      expect([changed, (await verifyAudit(dir)).isSound]).toEqual([changed, false]);
    }
    await writeFile(file, lines.toSpliced(3, 1).join("\n"));
    expect((await verifyAudit(dir)).isSound).toBe(false);
    await writeFile(file, text);
    expect((await verifyAudit(dir)).isSound).toBe(true);
  });

  test("accepts a complete line that lacks only its line feed", async () => {
    await writeEvents(dir, ["a"]);
    const file = await lastFile(dir);
    await writeFile(file, (await readFile(file, "utf8")).trimEnd());
    await writeEvents(dir, ["b"]);
    expect(await verifyAudit(dir)).toMatchObject({ isSound: true, chains: [{ lines: 6, tornParts: 0 }] });
  });

  test("continues in a file that was created but not written", async () => {
    await writeEvents(dir, ["a"]);
    await writeFile(filePath(dir, await onlyChain(dir), 2), "");
    await writeEvents(dir, ["b"]);
    expect(await verifyAudit(dir)).toMatchObject({ isSound: true, chains: [{ files: 2, lines: 6 }] });
  });
});

describe("an audit chain that was tampered with", () => {
  test.each(["cut", "edited", "head"])("is kept as evidence and not continued: %s", async (how) => {
    await writeEvents(dir, ["a"]);
    const [chain = ""] = await listChains(dir);
    const file = filePath(dir, chain, 1);
    const text = await readFile(file, "utf8");
    if (how === "cut") await writeFile(file, `${text.split("\n").slice(0, 2).join("\n")}\n`);
    else if (how === "edited") await writeFile(file, text.replace("audit.closed", "audit.cl0sed"));
    else await writeFile(headPath(dir, chain), "0\n");
    const changed = await readFile(file, "utf8");
    await writeEvents(dir, ["b"]);
    expect(await listChains(dir)).toHaveLength(2);
    expect(await readFile(file, "utf8")).toBe(changed);
    expect((await verifyAudit(dir)).problems.every((problem) => problem.chain === chain)).toBe(true);
    expect((await verifyAudit(dir)).isSound).toBe(false);
  });
});

/** Limits how many bytes can be written; `Number.POSITIVE_INFINITY` lifts the limit. Real files get what fits. */
async function limitedDisk(room: number): Promise<{ room: number }> {
  const disk = { room };
  await using handle = await opened(join(dir, "..", "probe"));
  const prototype = Object.getPrototypeOf(handle.file) as FileHandle;
  const write = prototype.write as (this: FileHandle, data: Uint8Array) => Promise<{ bytesWritten: number }>;
  vi.spyOn(prototype, "write").mockImplementation(async function (this: FileHandle, data: unknown, ...rest: unknown[]) {
    // the head is text, and is overwritten in an existing block
    if (typeof data === "string") return (write as unknown as typeof prototype.write).call(this, data, ...(rest as []));
    const bytes = data as Uint8Array;
    if (disk.room <= 0) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    const written = await write.call(this, bytes.subarray(0, Math.min(bytes.length, disk.room)));
    disk.room -= written.bytesWritten;
    return written;
  } as never);
  return disk;
}

async function opened(path: string) {
  const file = await open(path, "w");
  return { file, [Symbol.asyncDispose]: () => file.close() };
}

function listeningLogger(): Logger & { readonly messages: string[] } {
  const messages: string[] = [];
  const say = (message: string) => void messages.push(message);
  return { messages, debug: say, info: say, warn: say, error: say };
}

describe("the audit log on a full disk", () => {
  test("makes settled() fail with audit_failed, and finishes the half line once there is space", async () => {
    const disk = await limitedDisk(700);
    const logger = listeningLogger();
    await using log = openLog(dir, { durable: true, logger });
    for (const name of ["a", "b", "c", "d"]) log.record(checkpoint(name));
    await expect(log.settled()).rejects.toMatchObject({
      code: "audit_failed",
      message: expect.stringContaining("no space left"),
    });
    expect((await stat(await lastFile(dir))).size).toBe(700);
    disk.room = Number.POSITIVE_INFINITY;
    await log.settled();
    expect(await types()).toEqual(["audit.opened", ...Array.from({ length: 4 }, () => "session.checkpoint")]);
    expect(logger.messages).toEqual([
      expect.stringMatching(/^the audit log cannot be written: .*no space left/),
      "the audit log can be written again",
    ]);
  });

  test("counts the events that do not fit into memory, and records the number", async () => {
    const disk = await limitedDisk(300);
    const log = openLog(dir, { maxQueuedBytes: 20_000 });
    for (let n = 0; n < 5; n++) log.record(checkpoint(`early${n}`));
    await log.settled().catch(() => {});
    for (let n = 0; n < 50; n++) log.record(checkpoint(`late${n}`));
    await expect(log.settled()).rejects.toMatchObject({ code: "audit_failed" });
    disk.room = Number.POSITIVE_INFINITY;
    await log[Symbol.asyncDispose]();
    const { isSound, chains } = await verifyAudit(dir);
    expect(isSound).toBe(true);
    const written = (await types()).filter((type) => type === "session.checkpoint").length;
    expect(chains[0]?.lostEvents).toBe(55 - written);
    expect(chains[0]?.lostEvents).toBeGreaterThan(20);
  });

  test("reports the missing events when it is closed, and does not throw", async () => {
    await limitedDisk(300);
    const logger = listeningLogger();
    const lax = openLog(dir, { logger });
    lax.record(checkpoint("a"));
    lax.record(checkpoint("b"));
    await lax[Symbol.asyncDispose]();
    expect(logger.messages).toEqual([
      expect.stringMatching(/^the audit log cannot be written: /),
      expect.stringMatching(/^the last \d+ audit events could not be written: /),
    ]);
  });
});

test("an audit directory that cannot be written is logged once, and only durable runs fail", async () => {
  await writeFile(dir, "a file");
  const logger = listeningLogger();
  const log = openLog(dir, { logger });
  log.record(checkpoint("a"));
  await expect(log.settled()).rejects.toMatchObject({ code: "audit_failed" });
  log.record(checkpoint("b"));
  await log[Symbol.asyncDispose]();
  expect(logger.messages).toEqual([
    expect.stringMatching(/^the audit log cannot be written: /),
    expect.stringMatching(/^the last \d+ audit events could not be written: /),
  ]);
});

test("a new audit chain that another process takes first is left to it", async () => {
  vi.spyOn(ChainWriter, "take").mockResolvedValueOnce(undefined);
  await using log = openLog(dir, { durable: true });
  log.record(checkpoint("a"));
  await log.settled();
  expect(await listChains(dir)).toHaveLength(2);
});

describe("pruning of the audit", () => {
  const names = Array.from({ length: 60 }, (_, index) => `n${index}`);

  test("removes whole files, oldest first, and records it", async () => {
    await writeEvents(dir, names, { fileBytes: 1_500, keepBytes: 6_000 });
    const chain = await onlyChain(dir);
    const files = await listFiles(dir, chain);
    expect(files[0]).toBeGreaterThan(1);
    const sizes = await Promise.all(files.map(async (number) => (await stat(filePath(dir, chain, number))).size));
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(8_500);
    const { isSound, chains } = await verifyAudit(dir);
    expect(isSound).toBe(true);
    expect(chains[0]?.prunedThrough).toBeGreaterThan(10);
  });

  test("does not excuse a beginning that was removed without a record", async () => {
    await writeEvents(dir, names, { fileBytes: 1_500, keepBytes: 6_000 });
    const chain = await onlyChain(dir);
    const [first = 0] = await listFiles(dir, chain);
    await writeFile(filePath(dir, chain, first), "");
    expect((await verifyAudit(dir)).isSound).toBe(false);
  });

  test("removes files that are too old", async () => {
    await writeEvents(dir, ["old"], { fileBytes: 300, now: () => Date.now() - 10_000 });
    await writeEvents(dir, names.slice(0, 20), { fileBytes: 1_500 });
    const chain = await onlyChain(dir);
    await writeEvents(dir, ["x"], { keepMs: 5_000 });
    expect((await listFiles(dir, chain))[0]).toBeGreaterThan(1);
    expect((await verifyAudit(dir)).isSound).toBe(true);
  });

  test("is not triggered by a forged modification time", async () => {
    const idle = await idleChain();
    const files = await listFiles(dir, idle);
    const long = new Date(Date.now() - 10_000);
    for (const number of files) await utimes(filePath(dir, idle, number), long, long);
    await writeEvents(dir, ["x"], { keepMs: 5_000 });
    expect(await listFiles(dir, idle)).toEqual(files);
  });

  /** Two concurrent writers leave two chains. The next writer takes the first by name, so the last one stays idle. */
  async function idleChain(): Promise<string> {
    const logs = new Map<string, AuditLog>();
    for (const name of ["a", "b"]) {
      const log = openLog(dir, { fileBytes: 1_500 });
      log.record(checkpoint(name));
      await log.settled();
      logs.set((await listChains(dir)).find((chain) => !logs.has(chain)) ?? "", log);
    }
    const idle = (await listChains(dir)).at(-1) ?? "";
    for (const name of names.slice(0, 20)) logs.get(idle)?.record(checkpoint(name));
    for (const log of logs.values()) await log[Symbol.asyncDispose]();
    return idle;
  }

  test("removes files of idle chains, and records it in those chains", async () => {
    const idle = await idleChain();
    const before = await listFiles(dir, idle);
    await writeEvents(dir, ["later"], { keepBytes: 3_000 });
    const after = await listFiles(dir, idle);
    expect(after[0]).toBeGreaterThan(before[0] ?? 0);
    expect(after.at(-1)).toBeGreaterThanOrEqual(before.at(-1) ?? 0);
    const { problems, chains } = await verifyAudit(dir);
    expect(problems).toEqual([]);
    expect(chains.find(({ chain }) => chain === idle)?.prunedThrough).toBeGreaterThan(0);
  });

  test("removes files of an idle chain by age, except the one with the record", async () => {
    const idle = await idleChain();
    const newest = (await listFiles(dir, idle)).at(-1) ?? 0;
    const later = () => Date.now() + 30 * hourMs;
    await writeEvents(dir, ["later"], { keepMs: 24 * hourMs, now: later });
    expect(await listFiles(dir, idle)).toEqual([newest + 1]);
    const text = await readFile(filePath(dir, idle, newest + 1), "utf8");
    expect((await eventsIn(filePath(dir, idle, newest + 1))).map(({ type }) => type)).toEqual([
      ...["audit.opened", "audit.pruned", "audit.closed"],
    ]);
    expect(text).not.toContain("n19");
    expect((await verifyAudit(dir)).problems).toEqual([]);
  });

  test("keeps an idle chain that was tampered with as evidence", async () => {
    const idle = await idleChain();
    const before = await listFiles(dir, idle);
    await writeFile(headPath(dir, idle), "0\n");
    await writeEvents(dir, ["later"], { keepBytes: 3_000 });
    expect(await listFiles(dir, idle)).toEqual(before);
  });

  test("does not touch a chain with nothing to remove", async () => {
    const idle = await idleChain();
    const before = await readFile(headPath(dir, idle), "utf8");
    await writeEvents(dir, ["later"]);
    expect(await readFile(headPath(dir, idle), "utf8")).toBe(before);
  });
});
