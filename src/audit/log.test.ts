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
import { filePath, headPath, listChains, listFiles, readHead } from "./chain-files.ts";
import { ChainWriter } from "./chain-writer.ts";
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

test("a log in which nothing happens leaves nothing behind", async () => {
  await openLog(dir)[Symbol.asyncDispose]();
  await expect(stat(dir)).rejects.toMatchObject({ code: "ENOENT" });
});

test("only its owner can read it", async () => {
  await writeEvents(dir, ["a"]);
  const modes = await Promise.all(
    [dir, join(dir, await onlyChain(dir)), await lastFile(dir)].map((path) => stat(path)),
  );
  expect(modes.map(({ mode }) => (mode & 0o777).toString(8))).toEqual(["700", "700", "600"]);
});

test("processes one after the other continue one chain", async () => {
  await writeEvents(dir, ["a"]);
  await writeEvents(dir, ["b"]);
  expect(await types()).toEqual([
    ...["audit.opened", "session.checkpoint", "audit.closed"],
    ...["audit.opened", "session.checkpoint", "audit.closed"],
  ]);
  expect((await verifyAudit(dir)).isSound).toBe(true);
});

test("whoever waits again, at any moment after the last answer, gets one", async () => {
  await using log = openLog(dir, { durable: true });
  for (let ticks = 0; ticks < 20; ticks++) {
    log.record(checkpoint(`t${ticks}`));
    await log.settled();
    for (let tick = 0; tick < ticks; tick++) await undefined;
    await log.settled();
  }
});

test("what is settled is in the file and in the head", async () => {
  await using log = openLog(dir);
  for (let n = 0; n < 1000; n++) log.record(checkpoint(`n${n}`));
  await log.settled();
  const events = await eventsIn(await lastFile(dir));
  expect(events.slice(1).map(({ name }) => name)).toEqual(Array.from({ length: 1000 }, (_, n) => `n${n}`));
  expect(await readHead(dir, await onlyChain(dir))).toMatchObject({ seq: 1001 });
  for (const event of events) expect(auditEventSchema.safeParse(event).success).toBe(true);
});

test("what is known later stands where its place was kept, and settling waits for it", async () => {
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

test("what was to be known later and is not counts as lost", async () => {
  const log = openLog(dir);
  log.recordLater(Promise.reject(new Error("gone")));
  log.record(checkpoint("next"));
  await log[Symbol.asyncDispose]();
  expect(await verifyAudit(dir)).toMatchObject({ isSound: true, chains: [{ lostEvents: 1 }] });
});

test("settling with nothing to write does not wait for anything", async () => {
  await using log = openLog(dir);
  await log.settled();
  expect(await listChains(dir)).toEqual([]);
});

test("a very long state directory is no obstacle", async () => {
  const deep = join(dir, "x".repeat(200));
  await writeEvents(deep, ["a"]);
  await using first = openLog(deep);
  first.record(checkpoint("b"));
  await first.settled();
  await writeEvents(deep, ["c"]);
  expect(await listChains(deep)).toHaveLength(2);
});

test("a value of the environment is in no event, and its name stands in its place", async () => {
  await writeEvents(dir, ["key hunter2hunter2 end", "UTC"], { env: { API_KEY: "hunter2hunter2", TZ: "UTC" } });
  const text = await readFile(await lastFile(dir), "utf8");
  expect(text).not.toContain("hunter2hunter2");
  expect(text).toContain('"name":"key [env API_KEY] end"');
  expect(text).toContain('"name":"UTC"');
});

describe("after a crash", () => {
  /** As if the process had been killed while it wrote the line. */
  async function tear(bytes: number): Promise<string> {
    await writeEvents(dir, ["a"]);
    const file = await lastFile(dir);
    const line = (await readFile(file, "utf8")).split("\n")[1] ?? "";
    const rest = line.slice(0, bytes);
    await appendFile(file, rest);
    return rest;
  }

  test.each([1, 20, 150])("a line torn after %i bytes is kept and told of, and the chain goes on", async (bytes) => {
    const rest = await tear(bytes);
    expect((await verifyAudit(dir)).problems).toMatchObject([{ line: 4, message: expect.stringContaining("is torn") }]);
    await writeEvents(dir, ["b"]);
    expect(await readFile(await lastFile(dir), "utf8")).toContain(`\n${rest}\n`);
    const events = await eventsIn(await lastFile(dir));
    expect(events[3]).toMatchObject({ type: "audit.torn", bytes });
    expect(await verifyAudit(dir)).toMatchObject({ isSound: true, chains: [{ tornParts: 1 }] });
  });

  test("what is left of a torn line can no longer be changed", async () => {
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

  test("a whole line that lacks only its line feed counts", async () => {
    await writeEvents(dir, ["a"]);
    const file = await lastFile(dir);
    await writeFile(file, (await readFile(file, "utf8")).trimEnd());
    await writeEvents(dir, ["b"]);
    expect(await verifyAudit(dir)).toMatchObject({ isSound: true, chains: [{ lines: 6, tornParts: 0 }] });
  });

  test("a file that was begun and not written is gone on with", async () => {
    await writeEvents(dir, ["a"]);
    await writeFile(filePath(dir, await onlyChain(dir), 2), "");
    await writeEvents(dir, ["b"]);
    expect(await verifyAudit(dir)).toMatchObject({ isSound: true, chains: [{ files: 2, lines: 6 }] });
  });
});

describe("a chain that somebody changed", () => {
  test.each(["cut", "edited", "head"])("a damaged chain is not continued but kept as evidence: %s", async (how) => {
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

/** A disk with so much room; `Number.POSITIVE_INFINITY` makes room again. The real files are written as far as it goes. */
async function limitedDisk(room: number): Promise<{ room: number }> {
  const disk = { room };
  await using handle = await opened(join(dir, "..", "probe"));
  const prototype = Object.getPrototypeOf(handle.file) as FileHandle;
  const write = prototype.write as (this: FileHandle, data: Uint8Array) => Promise<{ bytesWritten: number }>;
  vi.spyOn(prototype, "write").mockImplementation(async function (this: FileHandle, data: unknown, ...rest: unknown[]) {
    // the head is text, and lies in a block that is there already
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

describe("on a full disk", () => {
  test("settling fails with audit_failed, and the half line is finished when there is room again", async () => {
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
      expect.stringMatching(/^the audit cannot be written: .*no space left/),
      "the audit can be written again",
    ]);
  });

  test("what does not fit into memory is counted, and told in the log", async () => {
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

  test("closing tells what is missing, and throws nothing", async () => {
    await limitedDisk(300);
    const logger = listeningLogger();
    const lax = openLog(dir, { logger });
    lax.record(checkpoint("a"));
    lax.record(checkpoint("b"));
    await lax[Symbol.asyncDispose]();
    expect(logger.messages).toEqual([
      expect.stringMatching(/^the audit cannot be written: /),
      expect.stringMatching(/^the last \d+ events of the audit could not be written: /),
    ]);
  });
});

test("a place that cannot be written is told once, and fails nobody who does not ask for more", async () => {
  await writeFile(dir, "a file");
  const logger = listeningLogger();
  const log = openLog(dir, { logger });
  log.record(checkpoint("a"));
  await expect(log.settled()).rejects.toMatchObject({ code: "audit_failed" });
  log.record(checkpoint("b"));
  await log[Symbol.asyncDispose]();
  expect(logger.messages).toEqual([
    expect.stringMatching(/^the audit cannot be written: /),
    expect.stringMatching(/^the last \d+ events of the audit could not be written: /),
  ]);
});

test("a new chain that another process takes first is theirs, and the next one is ours", async () => {
  vi.spyOn(ChainWriter, "take").mockResolvedValueOnce(undefined);
  await using log = openLog(dir, { durable: true });
  log.record(checkpoint("a"));
  await log.settled();
  expect(await listChains(dir)).toHaveLength(2);
});

describe("what the policy does not keep", () => {
  const names = Array.from({ length: 60 }, (_, index) => `n${index}`);

  test("goes by whole files, oldest first, and the log says so", async () => {
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

  test("a beginning that was removed without being told of is a problem all the same", async () => {
    await writeEvents(dir, names, { fileBytes: 1_500, keepBytes: 6_000 });
    const chain = await onlyChain(dir);
    const [first = 0] = await listFiles(dir, chain);
    await writeFile(filePath(dir, chain, first), "");
    expect((await verifyAudit(dir)).isSound).toBe(false);
  });

  test("goes when it is too old", async () => {
    await writeEvents(dir, ["old"], { fileBytes: 300, now: () => Date.now() - 10_000 });
    await writeEvents(dir, names.slice(0, 20), { fileBytes: 1_500 });
    const chain = await onlyChain(dir);
    await writeEvents(dir, ["x"], { keepMs: 5_000 });
    expect((await listFiles(dir, chain))[0]).toBeGreaterThan(1);
    expect((await verifyAudit(dir)).isSound).toBe(true);
  });

  test("does not go because somebody made its file look old", async () => {
    const idle = await idleChain();
    const files = await listFiles(dir, idle);
    const long = new Date(Date.now() - 10_000);
    for (const number of files) await utimes(filePath(dir, idle, number), long, long);
    await writeEvents(dir, ["x"], { keepMs: 5_000 });
    expect(await listFiles(dir, idle)).toEqual(files);
  });

  /** Two writers at a time leave two chains. The next one takes the first by name, so nobody writes to the last. */
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

  test("goes from chains that nobody writes to, which say so themselves", async () => {
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

  test("goes from an idle chain by age down to the file that says so", async () => {
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

  test("an idle chain that somebody changed is evidence and stays whole", async () => {
    const idle = await idleChain();
    const before = await listFiles(dir, idle);
    await writeFile(headPath(dir, idle), "0\n");
    await writeEvents(dir, ["later"], { keepBytes: 3_000 });
    expect(await listFiles(dir, idle)).toEqual(before);
  });

  test("a chain with nothing to remove is not touched", async () => {
    const idle = await idleChain();
    const before = await readFile(headPath(dir, idle), "utf8");
    await writeEvents(dir, ["later"]);
    expect(await readFile(headPath(dir, idle), "utf8")).toBe(before);
  });
});
