import { expect, test } from "vitest";
import { newAuditDir, openLog } from "../../test/support/audit-logs.ts";
import { auditPage } from "./page.ts";
import type { AuditEntry } from "./read.ts";

let nowMs = Date.parse("2026-01-31T12:00:00Z");
const log = (dir: string, fileBytes = 2 ** 20) => openLog(dir, { fileBytes, keepMs: 1e12, now: () => nowMs++ });
const reset = (session: string) => ({ type: "session.reset", session }) as const;
const resets = { types: ["session.reset"] };
const names = (entries: readonly AuditEntry[]) => entries.map(({ event }) => event.session);

test("each audit page continues where the last one ended, across chains and files, and misses no new events", async () => {
  await using place = await newAuditDir();
  const dir = place.path;
  await using first = log(dir, 400);
  await using second = log(dir, 400);
  for (let at = 0; at < 12; at++) {
    const writer = at % 3 === 0 ? first : second;
    writer.record(reset(`s${at}`));
    await writer.settled();
  }
  const seen: unknown[] = [];
  let page = await auditPage(dir, new Map(), resets, { entries: 5, bytes: 1e6 });
  for (; !page.isEnd; page = await auditPage(dir, page.places, resets, { entries: 5, bytes: 1e6 })) {
    seen.push(...names(page.entries));
  }
  seen.push(...names(page.entries));
  expect(seen).toEqual(Array.from({ length: 12 }, (_, at) => `s${at}`));
  first.record(reset("later"));
  await first.settled();
  expect(names((await auditPage(dir, page.places, resets, { entries: 5, bytes: 1e6 })).entries)).toEqual(["later"]);
});

test("an audit page reads a bounded amount, and all pages together have every event in order", async () => {
  await using place = await newAuditDir();
  const dir = place.path;
  await using one = log(dir);
  await using two = log(dir);
  for (let at = 0; at < 60; at++) one.record(reset(at % 20 === 19 ? `mine.${at}` : `other.${at}`));
  await one.settled();
  two.record(reset("mine.last"));
  await two.settled();
  const filter = { sessionPrefix: "mine." };
  const seen: unknown[] = [];
  let pages = 0;
  for (let places = new Map(), isEnd = false; !isEnd; pages++) {
    const page = await auditPage(dir, places, filter, { entries: 100, bytes: 2_000 });
    seen.push(...names(page.entries));
    places = new Map(page.places);
    isEnd = page.isEnd;
    expect(pages).toBeLessThan(100);
  }
  expect(seen).toEqual(["mine.19", "mine.39", "mine.59", "mine.last"]);
  expect(pages).toBeGreaterThan(3);
});
