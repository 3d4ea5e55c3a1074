import { afterEach, beforeEach, expect, test } from "vitest";
import { checkpoint, newAuditDir, onlyChain, openLog, writeEvents } from "../../test/support/audit-logs.ts";
import { csvHeader, csvLine } from "./csv.ts";
import { auditPlaces, followAudit } from "./follow.ts";
import { type AuditFilter, entriesIn, lastEntries, readAudit } from "./read.ts";

let place: Awaited<ReturnType<typeof newAuditDir>>;
let dir: string;
beforeEach(async () => {
  place = await newAuditDir();
  dir = place.path;
});
afterEach(() => place[Symbol.asyncDispose]());

async function names(filter: AuditFilter = { types: ["session"] }): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { event } of readAudit(dir, filter)) found.push(event.name);
  return found;
}

test("readAudit merges two chains in order of time", async () => {
  let nowMs = 1_000;
  const now = () => nowMs++;
  const [a, b] = [openLog(dir, { now }), openLog(dir, { now })];
  for (const [log, name] of [
    [a, "1"],
    [b, "2"],
    [a, "3"],
    [b, "4"],
    [b, "5"],
    [a, "6"],
  ] as const) {
    log.record(checkpoint(name));
    await log.settled();
  }
  expect(await names()).toEqual(["1", "2", "3", "4", "5", "6"]);
  expect((await lastEntries(dir, 3)).map(({ event }) => event.name)).toEqual(["4", "5", "6"]);
  await a[Symbol.asyncDispose]();
  await b[Symbol.asyncDispose]();
});

test("readAudit filters by session, run, type and time", async () => {
  let nowMs = 0;
  await using log = openLog(dir, { now: () => nowMs });
  for (const [index, session] of ["a", "b", "a"].entries()) {
    nowMs = index * 1000;
    log.record({ type: "session.checkpoint", session, name: `n${index}` });
    log.record({ type: "session.recovered", session, run: index, state: "lost" });
  }
  await log.settled();
  expect(await names({ session: "a", types: ["session.checkpoint"] })).toEqual(["n0", "n2"]);
  expect(await names({ run: 1 })).toEqual([undefined]);
  expect(await names({ types: ["session"], sinceMs: 1000, untilMs: 1999 })).toEqual(["n1", undefined]);
  expect(await names({ types: ["sess"] })).toEqual([]);
});

test("lastEntries finds the last entries across files", async () => {
  const all = Array.from({ length: 50 }, (_, index) => `n${index}`);
  await writeEvents(dir, all, { fileBytes: 1_500 });
  const last = await lastEntries(dir, 20, { types: ["session"] });
  expect(last.map(({ event }) => event.name)).toEqual(all.slice(-20));
  expect(await lastEntries(dir, 0)).toEqual([]);
  expect(await lastEntries(`${dir}/nowhere`, 20)).toEqual([]);
});

test("lastEntries returns fewer entries when they are large, but always the last one", async () => {
  await writeEvents(dir, ["a", "b".repeat(10_000), "c", "d"], { fileBytes: 1_000 });
  const names = async (maxBytes: number) =>
    (await lastEntries(dir, 10, { types: ["session"] }, { maxBytes })).map(({ event }) => String(event.name)[0]);
  expect(await names(1_000_000)).toEqual(["a", "b", "c", "d"]);
  expect(await names(10_000)).toEqual(["c", "d"]);
  expect(await names(1)).toEqual(["d"]);
});

test("readAudit skips a file that the policy removes while it reads", async () => {
  await writeEvents(dir, ["a"]);
  const read = [];
  for await (const { entry } of entriesIn(dir, await onlyChain(dir), 2, {})) read.push(entry);
  expect(read).toEqual([]);
});

test("followAudit stops at once when it is aborted, however much there is to read", async () => {
  await writeEvents(dir, ["a", "b", "c"]);
  const stop = new AbortController();
  const followed: unknown[] = [];
  for await (const { event } of followAudit(dir, new Map(), { types: ["session"] }, stop.signal)) {
    followed.push(event.name);
    stop.abort();
  }
  expect(followed).toEqual(["a"]);
});

test("followAudit follows new events across files and chains that are created later", async () => {
  await writeEvents(dir, ["before"]);
  const stop = new AbortController();
  const places = await auditPlaces(dir);
  const followed: unknown[] = [];
  const following = (async () => {
    for await (const { event } of followAudit(dir, places, { types: ["session"] }, stop.signal)) {
      followed.push(event.name);
      if (followed.length === 1)
        await writeEvents(
          dir,
          Array.from({ length: 12 }, (_, n) => `n${n}`),
          { fileBytes: 1_000 },
        );
      if (followed.length === 13) stop.abort();
    }
  })();
  await using log = openLog(dir);
  log.record(checkpoint("first"));
  await following;
  expect(followed).toEqual(["first", ...Array.from({ length: 12 }, (_, n) => `n${n}`)]);
});

test("a CSV export contains nothing that a spreadsheet runs as a formula", () => {
  expect(csvHeader).toBe("time,chain,seq,type,session,run,details\r\n");
  const event = { type: "run.ended", session: "=cmd|' /C calc'!A0", run: 1, code: 'print("a,b")\n' };
  expect(csvLine({ time: "2026-01-01T00:00:00.000Z", chain: "c", seq: 7, event })).toBe(
    `2026-01-01T00:00:00.000Z,c,7,run.ended,'=cmd|' /C calc'!A0,1,"{""code"":""print(\\""a,b\\"")\\n""}"\r\n`,
  );
});
