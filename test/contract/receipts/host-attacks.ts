import { createHash } from "node:crypto";
import { open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { auditDirectory, filePath, listChains, listFiles } from "../../../src/audit/chain/chain-files.ts";
import { verifyAudit } from "../../../src/audit/verify.ts";
import type { FakeAudit } from "../../fakes/fake-audit.ts";
import { eventsIn, openLog, writeEvents } from "../../support/audit-logs.ts";
import { within } from "../../support/process-cells.ts";
import { type Attack, expectCode, filesBelow, filesWith } from "./attacked.ts";

export const endsWhenIdle: Attack = async ({ codecell }) => {
  const id = (await codecell.session("left-alone")).id;
  await expect.poll(() => codecell.aliveIds()).not.toContain(id);
  await expectCode(codecell.get(id), "session_culled", "session.idle");
};

export const endsWithAge: Attack = async ({ codecell }) => {
  const session = await codecell.session("busy");
  const result = await within(20_000, Promise.resolve(session.run("while True: pass")));
  expect(result).toMatchObject({ state: "lost" });
  await expectCode(codecell.get("busy"), "session_culled", "session.lifetime");
};

export const oneTooMany: Attack = async ({ codecell, policy }) => {
  const free = policy.session.limit - codecell.aliveIds().length;
  const opened = await Promise.all(Array.from({ length: free }, () => codecell.session()));
  await expectCode(codecell.session(), "session_limit", "session.limit");
  for (const session of opened) await session.close();
};

const marker = "m4rker-of-a-session-that-ended";

/** Neither by itself nor by request does anything stay; the record of what happened has rules of its own. */
export const nothingKept: Attack = async ({ codecell, stateDir }) => {
  const session = await codecell.session("not-kept");
  await session.run(`text = "${marker}"\nopen("file.txt", "w").write("${marker}")`);
  await expectCode(session.save(), "not_supported", "not persistent");
  await session.close();
  const kept = (await filesWith(stateDir, marker)).filter((path) => !path.startsWith(auditDirectory(stateDir)));
  expect(kept).toEqual([]);
  expect((await filesBelow(join(stateDir, "sessions"))).filter((path) => path.includes("not-kept"))).toEqual([]);
  await expectCode(codecell.get("not-kept"), "session_unknown");
};

/** In another process's place: a second sandbox finds what the first one had, and nobody else can read it. */
export const keptOnDisk: Attack = async ({ codecell, stateDir, another, input }) => {
  const session = await codecell.session("kept");
  await session.run(`text = "${marker}"\nopen("file.txt", "w").write("${marker}")`);
  await session.close();
  const files = await filesBelow(join(stateDir, "sessions", "kept"));
  expect(files.length).toBeGreaterThan(0);
  for (const path of files) expect((await stat(path)).mode & 0o777).toBe(0o600);
  await using second = await another(input, stateDir);
  const back = await second.get("kept");
  expect(await back.run('text, open("file.txt").read()')).toMatchObject({ value: `('${marker}', '${marker}')` });
  await back.close({ forget: true });
  expect(await filesBelow(join(stateDir, "sessions", "kept"))).toEqual([]);
};

export const cellsWait: Attack = async ({ codecell, policy }) => {
  await codecell.poolFilled();
  expect(codecell.poolStatistics).toMatchObject({ ready: policy.session.pool, target: policy.session.pool });
  const { hits } = codecell.poolStatistics;
  const first = await codecell.session();
  expect(codecell.poolStatistics.hits).toBe(hits + 1);
  await first.run("x = 1\nopen('mine', 'w').write('x')");
  await first.close({ forget: true });
  await codecell.poolFilled();
  const second = await codecell.session();
  expect(codecell.poolStatistics.hits).toBe(hits + 2);
  const code = "import os\n'x' in globals(), os.path.exists('mine')";
  expect(await second.run(code)).toMatchObject({ value: "(False, False)" });
  await second.close({ forget: true });
};

export const noCellWaits: Attack = async ({ codecell }) => {
  const { hits } = codecell.poolStatistics;
  await (await codecell.session()).close();
  expect(codecell.poolStatistics).toMatchObject({ ready: 0, target: 0, hits });
};

/** Every line of every chain in a state directory. */
async function eventsBelow(stateDir: string) {
  const dir = auditDirectory(stateDir);
  const events = [];
  for (const chain of await listChains(dir)) {
    for (const file of await listFiles(dir, chain)) events.push(...(await eventsIn(filePath(dir, chain, file))));
  }
  return events;
}

let attempts = 0;
/** Code that no other run has. */
const newCode = () => `number = ${++attempts}\nnumber # ${marker}`;

export const recordedOnDisk: Attack = async ({ session, stateDir }) => {
  const cell = await session();
  await cell.run(newCode());
  const dir = auditDirectory(stateDir);
  const mine = async () => (await eventsBelow(stateDir)).filter((event) => event.session === cell.id);
  await expect.poll(async () => (await mine()).map(({ type }) => type)).toContain("run.ended");
  for (const path of await filesBelow(dir)) expect((await stat(path)).mode & 0o077).toBe(0);
  expect(await verifyAudit(dir)).toMatchObject({ isSound: true });
  const [chain = ""] = await listChains(dir);
  const file = filePath(dir, chain, (await listFiles(dir, chain))[0] ?? 0);
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace('"type":"session.opened"', '"type":"session.closed"'));
  expect(await verifyAudit(dir)).toMatchObject({ isSound: false });
  await writeFile(file, text);
};

export function codeIs(kind: "full" | "hash"): Attack {
  return async ({ session, stateDir, options }) => {
    const code = newCode();
    const hash = createHash("sha256").update(code).digest("hex");
    await (await session()).run(code);
    const given = options.audit as FakeAudit | undefined;
    const started = async () => {
      const events = given && "events" in given ? given.events : await eventsBelow(stateDir);
      return events.find((event) => event.type === "run.started" && event.codeHash === hash) as
        | { code?: string }
        | undefined;
    };
    await expect.poll(started).toBeDefined();
    expect((await started())?.code).toBe(kind === "full" ? code : undefined);
    if (kind === "hash") expect(await filesWith(auditDirectory(stateDir), code.split("\n")[0] ?? "")).toEqual([]);
  };
}

/** The line of a run is on disk, after fdatasync, when its result is given; what cannot be written does not run. */
export const onDiskFirst: Attack = async ({ session, stateDir, place, another, input }) => {
  const cell = await session();
  const handle = await open(join(place.root, "any"), "w");
  const synced = vi.spyOn(Object.getPrototypeOf(handle), "datasync");
  await handle.close();
  try {
    await cell.run(newCode());
    expect(synced.mock.calls.length).toBeGreaterThanOrEqual(2);
  } finally {
    synced.mockRestore();
  }
  const mine = (await eventsBelow(stateDir)).filter((event) => event.session === cell.id);
  expect(mine.at(-1)).toMatchObject({ type: "run.ended" });
  const full = await place.stateDir();
  await writeFile(auditDirectory(full), "a file in the place of the directory");
  await using broken = await another(input, full);
  const attempt = (async () => (await broken.session()).run("1"))();
  await expectCode(attempt, "audit_failed");
  await rm(auditDirectory(full));
};

export const soonOnDisk: Attack = async ({ session, stateDir }) => {
  const cell = await session();
  const before = performance.now();
  await cell.run(newCode());
  const ended = async () =>
    (await eventsBelow(stateDir)).some((event) => event.session === cell.id && event.type === "run.ended");
  await expect.poll(ended, { interval: 5 }).toBe(true);
  expect(performance.now() - before).toBeLessThan(10_000);
};

/** Files that others left, over the limits of this policy: gone once something is recorded, and the chain says so. */
export function pruned(rule: "audit.keep" | "audit.age"): Attack {
  return async ({ place, another, input, policy }) => {
    const stateDir = await place.stateDir();
    const dir = auditDirectory(stateDir);
    const { keepBytes, keepMs } = policy.audit;
    const then = Date.now() - (rule === "audit.age" ? 2 * keepMs : 0);
    const long = Array.from(
      { length: 12 },
      (_, n) => `${n}-${"x".repeat(rule === "audit.keep" ? keepBytes / 8 : 100)}`,
    );
    const fileBytes = rule === "audit.keep" ? keepBytes / 4 : 256;
    await writeEvents(dir, long, { fileBytes, keepBytes: 2 ** 40, keepMs: 2 ** 50, now: () => then });
    const [chain = ""] = await listChains(dir);
    const before = await listFiles(dir, chain);
    expect(before.length).toBeGreaterThan(2);
    {
      await using codecell = await another(input, stateDir);
      await (await codecell.session()).run("1");
    }
    const after = await listFiles(dir, chain);
    expect(after[0]).toBeGreaterThan(before[0] ?? 0);
    const sizes = await Promise.all(after.map(async (file) => (await stat(filePath(dir, chain, file))).size));
    if (rule === "audit.keep") expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(keepBytes);
    else expect(after.filter((file) => file < (before.at(-1) ?? 0))).toEqual([]);
    const events = (await eventsBelow(stateDir)).filter(({ type }) => type === "audit.pruned");
    expect(events).toMatchObject([{ why: rule }]);
    expect(await verifyAudit(dir)).toMatchObject({ isSound: true });
  };
}

/** What nobody writes down is nowhere; old files of others stay, since nobody is there to remove them. */
export const nothingRecorded: Attack = async ({ session, stateDir }) => {
  await (await session()).run(newCode());
  expect(await filesBelow(auditDirectory(stateDir))).toEqual([]);
};

export const programRecords: Attack = async ({ fresh, options, stateDir }) => {
  const audit = options.audit as FakeAudit;
  const session = await fresh();
  await session.run(newCode());
  await session.close();
  await audit.settled();
  const types = audit.events
    .filter((event) => "session" in event && event.session === session.id)
    .map(({ type }) => type);
  expect(types).toEqual(["session.opened", "run.started", "run.ended", "session.closed"]);
  expect(await filesBelow(auditDirectory(stateDir))).toEqual([]);
};

/** Files that nobody prunes stay, however old and large they are. */
export const nothingPruned: Attack = async ({ session, stateDir, policy }) => {
  const dir = auditDirectory(stateDir);
  const then = Date.now() - 2 * policy.audit.keepMs;
  await using _old = openLog(dir, { now: () => then });
  await writeEvents(dir, ["old", "older"], { fileBytes: 256, keepMs: 2 ** 50, now: () => then });
  const before = (await filesBelow(dir)).length;
  await (await session()).run(newCode());
  expect((await filesBelow(dir)).length).toBe(before);
  await rm(dir, { recursive: true });
};
