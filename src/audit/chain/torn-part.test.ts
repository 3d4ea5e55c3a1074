import { readFile, rm, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  checkpoint,
  eventsIn,
  lastFile,
  newAuditDir,
  onlyChain,
  openLog,
  writeEvents,
} from "../../../test/support/audit-logs.ts";
import { isThorough } from "../../../test/support/thorough.ts";
import { splitLines } from "../read-lines.ts";
import { verifyAudit } from "../verify.ts";
import { filePath, headPath, headText, listChains, readHead } from "./chain-files.ts";
import { verifyFiles } from "./verify-chain.ts";

/** Smaller than a real page, so that a few lines span many pages. */
const pageBytes = 160;
/** Number of lines that are synced to disk; the rest was written in the last second before the crash. */
const durableLines = 2;

let place: Awaited<ReturnType<typeof newAuditDir>>;
let dir: string;
let chain: string;
let file: string;
let whole: Buffer;
/** offset from which a power cut can lose data */
let durableBytes: number;
beforeEach(async () => {
  place = await newAuditDir();
  dir = place.path;
  await writeEvents(dir, ["one", "two", "three", "four"]);
  chain = await onlyChain(dir);
  file = await lastFile(dir);
  whole = await readFile(file);
  const lines = whole.toString().split("\n");
  durableBytes = Buffer.byteLength(`${lines.slice(0, durableLines).join("\n")}\n`);
  await writeHead();
});
afterEach(() => place[Symbol.asyncDispose]());

async function writeHead(): Promise<void> {
  const { seq, hash } = JSON.parse(whole.toString().split("\n")[durableLines - 1] ?? "");
  await writeFile(headPath(dir, chain), headText({ seq, hash }));
}

/** Simulates a restart with this file content, after which the next process writes. */
async function comeBack(left: Uint8Array): Promise<void> {
  await writeFile(file, left);
  await writeHead();
  await writeEvents(dir, ["after"]);
}

/** Removes the chains that were started because the first one could not be continued. */
async function removeOthers(): Promise<number> {
  const others = (await listChains(dir)).filter((name) => name !== chain);
  for (const name of others) await rm(`${dir}/${name}`, { recursive: true });
  return others.length;
}

function withHole(from: number, to: number, end = whole.length): Buffer {
  return Buffer.from(whole.subarray(0, end)).fill(0, from, to);
}

describe("the torn end of an audit file", () => {
  test("is sealed by the next writer wherever the line was cut, and the chain is sound", async () => {
    const missed: number[] = [];
    for (let end = durableBytes; end < whole.length; end += isThorough ? 23 : 71) {
      await comeBack(whole.subarray(0, end));
      const { isSound, chains } = await verifyAudit(dir);
      if (!isSound || chains.length !== 1) missed.push(end);
    }
    expect(missed).toEqual([]);
  });

  test("includes pages that did not reach the disk and everything after them", async () => {
    const missed: string[] = [];
    for (let from = durableBytes; from < whole.length; from += pageBytes) {
      for (const to of [from + pageBytes, from + 3 * pageBytes, whole.length]) {
        await comeBack(withHole(from, Math.min(to, whole.length)));
        const { isSound, chains } = await verifyAudit(dir);
        if (!isSound || chains.length !== 1 || chains[0]?.tornParts !== 1) missed.push(`${from}-${to}`);
      }
    }
    expect(missed).toEqual([]);
  });

  test("stays in the file, and the chain records its length and hash", async () => {
    const left = withHole(durableBytes + 30, durableBytes + 300);
    await comeBack(left);
    expect((await readFile(file)).subarray(0, left.length)).toEqual(left);
    const torn = (await eventsIn(file)).find(({ type }) => type === "audit.torn");
    expect(torn).toMatchObject({ bytes: left.length - durableBytes - 1 });
    expect((await verifyAudit(dir)).chains).toMatchObject([{ tornParts: 1, tornBytes: torn?.bytes, tornEndBytes: 0 }]);
  });

  test("is one problem, with its size, until it is sealed", async () => {
    await writeFile(file, withHole(durableBytes + 30, durableBytes + 300));
    const { isSound, chains, problems } = await verifyAudit(dir);
    expect(isSound).toBe(false);
    expect(chains).toMatchObject([{ tornEndBytes: whole.length - durableBytes - 1 }]);
    expect(problems).toMatchObject([
      { line: durableLines + 1, message: expect.stringContaining("bytes up to the end are incomplete") },
    ]);
  });

  test("is sealed again when a writer is killed while it seals", async () => {
    await comeBack(whole.subarray(0, durableBytes + 50));
    const sealed = await readFile(file);
    const missed: number[] = [];
    for (let end = durableBytes + 50; end < sealed.length; end += isThorough ? 29 : 97) {
      await comeBack(sealed.subarray(0, end));
      // and crash again in the middle of that seal
      const again = await readFile(file);
      await comeBack(again.subarray(0, Math.min(again.length, end + 40)));
      const { isSound, chains } = await verifyAudit(dir);
      if (!isSound || chains.length !== 1) missed.push(end);
    }
    expect(missed).toEqual([]);
  });
});

describe("an audit file that was tampered with is not sealed as torn", () => {
  const linesOf = () => whole.toString().split("\n").slice(0, -1);
  const attacks: [string, (lines: string[]) => string[]][] = [
    ["an edited line", (lines) => lines.with(3, (lines[3] ?? "").replace("three", "thr33"))],
    ["an edited last line", (lines) => lines.with(-1, (lines.at(-1) ?? "").replace("closed", "cl0sed"))],
    ["a removed line", (lines) => lines.toSpliced(3, 1)],
    ["a repeated line", (lines) => lines.toSpliced(3, 0, lines[3] ?? "")],
    ["two swapped lines", (lines) => lines.with(3, lines[4] ?? "").with(4, lines[3] ?? "")],
    ["a truncated line before complete ones", (lines) => lines.with(3, (lines[3] ?? "").slice(0, 80))],
    ["zeros in a part that was synced to disk", (lines) => lines.with(1, `${(lines[1] ?? "").slice(0, 80)}\0\0\0`)],
    [
      "a line of another chain",
      (lines) => lines.with(3, (lines[3] ?? "").replace(/"prev":"\w+"/, `"prev":"${"0".repeat(64)}"`)),
    ],
  ];

  test.each(attacks)("%s", async (_name, attack) => {
    const changed = Buffer.from(`${attack(linesOf()).join("\n")}\n`);
    await comeBack(changed);
    expect(await readFile(file)).toEqual(changed);
    expect(await removeOthers()).toBe(1);
    expect((await verifyAudit(dir)).isSound).toBe(false);
  });

  test.each(["missing", "empty"])("lines removed together with a head that is %s", async (how) => {
    await writeFile(file, whole.subarray(0, durableBytes));
    if (how === "missing") await rm(headPath(dir, chain));
    else await writeFile(headPath(dir, chain), "");
    expect((await verifyAudit(dir)).problems).toMatchObject([{ message: `the file head is ${how}` }]);
    await writeEvents(dir, ["after"]);
    expect(await listChains(dir)).toHaveLength(2);
  });
});

describe("a sealed part of an audit file", () => {
  let sealed: Buffer;
  let head: Awaited<ReturnType<typeof readHead>>;
  beforeEach(async () => {
    await comeBack(withHole(durableBytes + 30, durableBytes + 300));
    sealed = await readFile(file);
    head = await readHead(dir, chain);
  });

  async function isCaught(variant: Buffer): Promise<boolean> {
    const files = [{ number: 1, lines: () => splitLines([variant]) }];
    return (await verifyFiles(chain, files, head)).problems.length > 0;
  }

  /** Every fifth byte, and those around the ends of lines and of the torn part. */
  function isTried(at: number): boolean {
    const edges = [durableBytes, durableBytes + 30, durableBytes + 300, whole.length];
    const isNear = (edge: number) => Math.abs(at - edge) <= 3;
    return (
      isThorough || at % 5 === 0 || sealed.subarray(Math.max(0, at - 3), at + 4).includes(0x0a) || edges.some(isNear)
    );
  }

  test("cannot be changed in any byte, nor can the lines around it", async () => {
    expect(await isCaught(sealed)).toBe(false);
    const missed: number[] = [];
    for (let at = 0; at < sealed.length; at++) {
      if (!isTried(at)) continue;
      const variant = Buffer.from(sealed);
      variant[at] = [(sealed[at] ?? 0) ^ (1 << (at % 8)), 0x0a, 0][at % 3] ?? 0;
      if (!variant.equals(sealed) && !(await isCaught(variant))) missed.push(at);
      const without = Buffer.concat([sealed.subarray(0, at), sealed.subarray(at + 1)]);
      const within = Buffer.concat([sealed.subarray(0, at), Buffer.from("\0"), sealed.subarray(at)]);
      if (!(await isCaught(at % 2 === 0 ? without : within))) missed.push(at);
    }
    expect(missed).toEqual([]);
  });

  test("cannot hide a line that was removed before it", async () => {
    const lines = sealed.toString("latin1").split("\n");
    for (let index = 0; index < lines.length - 1; index++) {
      const variant = Buffer.from(lines.toSpliced(index, 1).join("\n"), "latin1");
      expect([index, await isCaught(variant)]).toEqual([index, true]);
    }
  });

  test("is followed correctly by a writer that was killed later and restarts", async () => {
    await writeFile(file, sealed.subarray(0, sealed.length - 20));
    await writeHead();
    await writeEvents(dir, ["again"]);
    expect(await verifyAudit(dir)).toMatchObject({ isSound: true, chains: [{ tornParts: 2 }] });
  });

  test("may hold lines whose numbers are used again, and witnesses of the later lines still count", async () => {
    await writeFile(file, withHole(durableBytes + 30, durableBytes + 300));
    await writeHead();
    await using first = openLog(dir);
    first.record(checkpoint("behind the seal"));
    await first.settled();
    expect(await readHead(dir, chain)).toMatchObject({ seq: 5 });
    await writeEvents(dir, ["sees it"]);
    expect((await verifyAudit(dir)).problems).toEqual([]);
  });

  test("does not span two files", async () => {
    await writeEvents(dir, ["next", "more"], { fileBytes: 100 });
    expect(await verifyAudit(dir)).toMatchObject({ isSound: true, chains: [{ tornParts: 1 }] });
    await rm(filePath(dir, chain, 2));
    expect((await verifyAudit(dir)).isSound).toBe(false);
  });
});
