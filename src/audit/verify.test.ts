import { execFileSync } from "node:child_process";
import { appendFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkpoint, lastFile, newAuditDir, onlyChain, openLog, writeEvents } from "../../test/support/audit-logs.ts";
import { sealLine } from "./chain/chain.ts";
import { filePath, headPath, headText, listChains, listFiles, readHead } from "./chain/chain-files.ts";
import { ChainWriter, type ChainWriterOptions } from "./chain/chain-writer.ts";
import { verifyFiles } from "./chain/verify-chain.ts";
import type { ChainHead } from "./event.ts";
import { readAudit } from "./read.ts";
import { splitLines } from "./read-lines.ts";
import { verifyAudit } from "./verify.ts";

let place: Awaited<ReturnType<typeof newAuditDir>>;
let dir: string;
beforeEach(async () => {
  place = await newAuditDir();
  dir = place.path;
});
afterEach(() => place[Symbol.asyncDispose]());

async function isSound(): Promise<boolean> {
  return (await verifyAudit(dir)).isSound;
}

async function messages(heads: ChainHead[] = []): Promise<string> {
  const { problems } = await verifyAudit(dir, { heads });
  return problems.map(({ file, line, message }) => `${file}:${line} ${message}`).join("\n");
}

function writerOptions(dir: string): ChainWriterOptions {
  const limits = { keepBytes: 2 ** 30, keepMs: 10 ** 9 };
  return { dir, limits, fileBytes: 2 ** 20, now: Date.now, openedMs: Date.now(), toJson: JSON.stringify };
}

describe("an audit log of one file", () => {
  let file: string;
  let chain: string;
  let bytes: Buffer;
  let lines: string[];
  let head: Awaited<ReturnType<typeof readHead>>;
  beforeEach(async () => {
    await writeEvents(dir, ["one", "zwei ü", "three"]);
    file = await lastFile(dir);
    bytes = await readFile(file);
    chain = await onlyChain(dir);
    head = await readHead(dir, chain);
    lines = bytes.toString("utf8").split("\n").slice(0, -1);
  });

  test("is sound when it is unchanged", async () => {
    const { isSound, chains } = await verifyAudit(dir);
    expect(isSound).toBe(true);
    expect(chains).toMatchObject([{ files: 1, lines: 5, lostEvents: 0, tornParts: 0, problems: [] }]);
  });

  /** In memory, because there are thousands of variants. */
  async function isCaught(variant: Buffer): Promise<boolean> {
    const files = [{ number: 1, lines: () => splitLines([variant]) }];
    return (await verifyFiles(chain, files, head)).problems.length > 0;
  }

  /** Goes on with a log of one event: verifying each variant of a log takes time that grows with the square of its length. */
  async function useShortLog(): Promise<void> {
    await using other = await newAuditDir();
    await writeEvents(other.path, ["ü"]);
    bytes = await readFile(await lastFile(other.path));
    chain = await onlyChain(other.path);
    head = await readHead(other.path, chain);
    expect(await isCaught(bytes)).toBe(false);
  }

  test("is sound when it is verified in memory", async () => {
    expect(await isCaught(bytes)).toBe(false);
  });

  test("fails verification when any byte is changed to any other", async () => {
    await useShortLog();
    const missed: number[] = [];
    for (let at = 0; at < bytes.length; at++) {
      const bit = 1 << (at % 8);
      for (const value of [(bytes[at] ?? 0) ^ bit, 0x0a, 0x20]) {
        if (value === bytes[at]) continue;
        const variant = Buffer.from(bytes);
        variant[at] = value;
        if (!(await isCaught(variant))) missed.push(at);
      }
    }
    expect(missed).toEqual([]);
  });

  test("fails verification when a byte is removed or inserted", async () => {
    await useShortLog();
    const missed: number[] = [];
    for (let at = 0; at <= bytes.length; at++) {
      const without = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
      const within = Buffer.concat([bytes.subarray(0, at), Buffer.from("\n"), bytes.subarray(at)]);
      if (at < bytes.length && !(await isCaught(without))) missed.push(at);
      if (!(await isCaught(within))) missed.push(-at);
    }
    expect(missed).toEqual([]);
  });

  test("fails verification when it is truncated anywhere", async () => {
    const missed: number[] = [];
    for (let at = 0; at < bytes.length; at++) if (!(await isCaught(bytes.subarray(0, at)))) missed.push(at);
    expect(missed).toEqual([]);
  });

  test("fails verification when a line is removed, repeated or moved", async () => {
    const missed: string[] = [];
    const tryLines = async (what: string, variant: string[]) => {
      if (!(await isCaught(Buffer.from(`${variant.join("\n")}\n`)))) missed.push(what);
    };
    for (const [index, line] of lines.entries()) {
      await tryLines(`remove ${index}`, lines.toSpliced(index, 1));
      for (let to = 0; to <= lines.length; to++) {
        await tryLines(`repeat ${index} at ${to}`, lines.toSpliced(to, 0, line));
        const moved = lines.toSpliced(index, 1).toSpliced(to, 0, line);
        if (moved.join() !== lines.join()) await tryLines(`move ${index} to ${to}`, moved);
      }
    }
    expect(missed).toEqual([]);
  });

  test("fails verification when any byte of its head is changed", async () => {
    const path = headPath(dir, await onlyChain(dir));
    const text = await readFile(path);
    for (let at = 0; at < text.length; at++) {
      const variant = Buffer.from(text);
      variant[at] = (variant[at] ?? 0) ^ 1;
      await writeFile(path, variant);
      expect([at, await isSound()]).toEqual([at, false]);
    }
    await rm(path);
    expect(await messages()).toBe("head:undefined the file head is missing");
  });

  test("reports one change as one problem, with file and line", async () => {
    await writeFile(file, bytes.toString().replace('"name":"zwei', '"name":"drei'));
    expect(await messages()).toBe("00000001.jsonl:3 was changed: its hash does not match its content");
  });

  test("reports a removed line at the line after it", async () => {
    await writeFile(file, `${lines.toSpliced(2, 1).join("\n")}\n`);
    expect(await messages()).toBe("00000001.jsonl:3 has number 4 after 2: lines were removed or moved");
  });

  test("fails verification against a remembered head when the last lines and the head file are removed", async () => {
    const chain = await onlyChain(dir);
    await writeFile(file, `${lines.slice(0, 2).join("\n")}\n`);
    const { hash } = JSON.parse(lines[1] ?? "");
    await writeFile(headPath(dir, chain), `000000000000002 ${hash}\n`);
    expect(await isSound()).toBe(true);
    expect(await messages([head as ChainHead])).toContain(
      "the head that was given names line 5: the last lines were removed",
    );
  });

  test("matches a remembered head after more events are written", async () => {
    await writeEvents(dir, ["four"]);
    expect(await messages([head as ChainHead])).toBe("");
    expect(await messages([{ ...(head as ChainHead), hash: "0".repeat(64) }])).toContain("is not line 5");
  });

  test("can be verified, read and continued although a seal in it is not JSON", async () => {
    const { seq, time, hash: prev } = JSON.parse(lines.at(-1) ?? "");
    const seal = sealLine({ seq: seq + 1, time, prev }, '{"type":"audit.torn" ?}');
    await appendFile(file, `half a line\n${seal.text}\n`);
    expect(await messages()).toContain("is not an audit line");
    await writeEvents(dir, ["later"]);
    expect(await listChains(dir)).toHaveLength(2); // the tampered chain stays as it is
    const read: unknown[] = [];
    for await (const { event } of readAudit(dir)) read.push(event.name);
    expect(read).toContain("later");
  });

  test("fails verification when a file comes from another chain", async () => {
    const other = "c-0123456789abcdef";
    const chain = await onlyChain(dir);
    await rename(join(dir, chain), join(dir, other));
    expect(await messages()).toContain("00000001.jsonl:1 does not begin this chain");
  });
});

describe("an audit log of many files", () => {
  beforeEach(() =>
    writeEvents(
      dir,
      Array.from({ length: 40 }, (_, index) => `n${index}`),
      { fileBytes: 2_000 },
    ),
  );

  test("is one chain across all files", async () => {
    const { isSound, chains } = await verifyAudit(dir);
    expect(isSound).toBe(true);
    expect(chains).toMatchObject([{ lines: 42 }]);
    expect(chains[0]?.files).toBeGreaterThan(4);
  });

  test("fails verification when the first, a middle or the last file is missing", async () => {
    const chain = await onlyChain(dir);
    const files = await listFiles(dir, chain);
    for (const number of [files[0], files[2], files.at(-1)]) {
      const path = filePath(dir, chain, number ?? 0);
      const bytes = await readFile(path);
      await rm(path);
      expect([number, await isSound()]).toEqual([number, false]);
      await writeFile(path, bytes);
      expect(await isSound()).toBe(true);
    }
  });

  test("fails verification when two files are swapped", async () => {
    const chain = await onlyChain(dir);
    const [a, b] = [filePath(dir, chain, 2), filePath(dir, chain, 3)];
    await rename(a, `${a}.x`);
    await rename(b, a);
    await rename(`${a}.x`, b);
    expect(await isSound()).toBe(false);
  });
});

describe("two concurrent audit writers", () => {
  test("have one chain each, and one witnesses the other", async () => {
    const first = openLog(dir);
    first.record(checkpoint("a"));
    await first.settled();
    await writeEvents(dir, ["b"]);
    const firstChain = (await verifyAudit(dir)).chains.find(({ isLive }) => isLive)?.chain ?? "";
    await first[Symbol.asyncDispose]();
    expect(await listChains(dir)).toHaveLength(2);
    expect(await isSound()).toBe(true);
    await rm(join(dir, firstChain), { recursive: true });
    expect(await messages()).toMatch(/is missing; chain c-\w+ saw its line 2/);
  });

  test("detect a chain that was truncated together with its head, through the other chain", async () => {
    const first = openLog(dir);
    first.record(checkpoint("a"));
    await first.settled();
    const chain = await onlyChain(dir);
    await writeEvents(dir, ["b"]);
    await first[Symbol.asyncDispose]();
    const path = filePath(dir, chain, 1);
    const [line = ""] = (await readFile(path, "utf8")).split("\n");
    await writeFile(path, `${line}\n`);
    await writeFile(headPath(dir, chain), `000000000000001 ${JSON.parse(line).hash}\n`);
    expect(await messages()).toMatch(/has no line 2 as chain c-\w+ saw it/);
  });

  test("detect a chain that was truncated and grew again, although the other has seen it since", async () => {
    const first = openLog(dir);
    first.record(checkpoint("a"));
    await first.settled();
    const cut = await onlyChain(dir);
    for (const name of ["b", "c"]) first.record(checkpoint(name));
    await first.settled();
    await writeEvents(dir, ["beside"]); // sees line 4
    await first[Symbol.asyncDispose]();
    const [line = ""] = (await readFile(filePath(dir, cut, 1), "utf8")).split("\n");
    await writeFile(filePath(dir, cut, 1), `${line}\n`);
    await writeFile(headPath(dir, cut), headText(JSON.parse(line)));
    const other = (await listChains(dir)).find((chain) => chain !== cut) ?? "";
    const look = async (chain: string, names: readonly string[]) => {
      await using writer = await ChainWriter.take(writerOptions(dir), chain);
      for (const name of names) writer?.add(checkpoint(name));
      await writer?.sync();
    };
    await look(other, []); // sees line 1, the last one now
    expect(await messages()).toMatch(/has no line 4 as chain c-\w+ saw it/);
    await look(cut, ["x", "y", "z", "w"]);
    await look(other, []); // sees line 6, after the missing one
    expect(await messages()).toMatch(/has no line 4 as chain c-\w+ saw it/);
  });

  /** Two chains of two files each. */
  async function twoChains(): Promise<[string, string]> {
    await using first = openLog(dir, { fileBytes: 700 });
    first.record(checkpoint("a"));
    await first.settled();
    await writeEvents(dir, ["b", "c", "d", "e"], { fileBytes: 700 });
    for (const name of ["f", "g", "h"]) first.record(checkpoint(name));
    await first.settled();
    const [one = "", other = ""] = await listChains(dir);
    return [one, other];
  }

  test("detect files that were swapped between their chains", async () => {
    const [one, other] = await twoChains();
    expect(await isSound()).toBe(true);
    const [a, b] = [filePath(dir, one, 2), filePath(dir, other, 2)];
    await rename(a, `${a}.x`);
    await rename(b, a);
    await rename(`${a}.x`, b);
    const { problems } = await verifyAudit(dir);
    expect(new Set(problems.map(({ chain }) => chain))).toEqual(new Set([one, other]));
  });

  test("detect an older copy that was restored, by a remembered later head", async () => {
    await writeEvents(dir, ["a"]);
    const chain = await onlyChain(dir);
    const old = { file: await readFile(filePath(dir, chain, 1)), head: await readFile(headPath(dir, chain)) };
    await writeEvents(dir, ["b"]);
    const later = (await readHead(dir, chain)) as ChainHead;
    await writeFile(filePath(dir, chain, 1), old.file);
    // with the current head, and with its own
    expect(await messages()).toContain("the file head names line 6: the last lines were removed");
    await writeFile(headPath(dir, chain), old.head);
    expect(await isSound()).toBe(true);
    expect(await messages([later])).toContain("the head that was given names line 6: the last lines were removed");
    // and it is still detected after others have written
    await writeEvents(dir, ["x", "y", "z"]);
    expect(await messages([later])).toContain("is not line 6 that the head that was given names");
  });

  test("detect that a chain with a remembered head is missing", async () => {
    await mkdir(dir);
    const head = { chain: "c-0123456789abcdef", seq: 3, hash: "0".repeat(64) };
    expect(await messages([head])).toContain("is missing; the head that was given names its line 3");
    expect((await verifyAudit(join(dir, "nowhere"))).chains).toEqual([]);
  });
});

describe("a forged audit.pruned event", () => {
  /** Truncates a chain, then continues it as if the policy had removed everything up to a number. */
  async function cutAndExcuse(chain: string, kept: number, throughSeq: number): Promise<void> {
    const path = filePath(dir, chain, 1);
    const lines = (await readFile(path, "utf8")).split("\n").slice(0, kept);
    const { seq, time, hash: prev } = JSON.parse(lines.at(-1) ?? "");
    const event = {
      type: "audit.pruned",
      files: ["00000001.jsonl"],
      throughSeq,
      hash: "0".repeat(64),
      why: "audit.keep",
    };
    const { text, hash } = sealLine({ seq: seq + 1, time, prev }, JSON.stringify(event));
    await writeFile(path, `${[...lines, text].join("\n")}\n`);
    await writeFile(headPath(dir, chain), headText({ seq: seq + 1, hash }));
  }

  test("does not excuse a missing line that a remembered head names", async () => {
    await writeEvents(dir, ["a", "b", "c"]);
    const chain = await onlyChain(dir);
    const head = (await readHead(dir, chain)) as ChainHead;
    await cutAndExcuse(chain, 2, 1_000);
    expect(await messages([head])).toContain("the head that was given names line 5: the last lines were removed");
  });

  test("does not excuse a missing line that another chain witnessed", async () => {
    await using first = openLog(dir);
    first.record(checkpoint("a"));
    await first.settled();
    const chain = await onlyChain(dir);
    await writeEvents(dir, ["b"]);
    await cutAndExcuse(chain, 1, 1_000);
    expect(await messages()).toMatch(/has no line 2 as chain c-\w+ saw it/);
  });
});

test("a named pipe in place of an audit file counts as missing, and verification does not hang", async () => {
  await writeEvents(dir, ["a", "b", "c", "d", "e", "f"], { fileBytes: 700 });
  const chain = await onlyChain(dir);
  const [, second = 0] = await listFiles(dir, chain);
  await rm(filePath(dir, chain, second));
  execFileSync("mkfifo", [filePath(dir, chain, second)]);
  expect(await messages()).toContain("00000002.jsonl is missing");
});

test("audit files that the policy removes while they are verified are not a problem", async () => {
  const names = Array.from({ length: 160 }, (_, i) => `${i}`);
  await writeEvents(dir, names, { fileBytes: 700 });
  const chain = await onlyChain(dir);
  const before = await listFiles(dir, chain);
  let isWriting = true;
  const writing = writeEvents(dir, ["a", "b", "c", "d", "e"], { fileBytes: 700, keepBytes: 3_000 }).finally(() => {
    isWriting = false;
  });
  while (isWriting) expect(await messages()).toBe("");
  await writing;
  expect((await listFiles(dir, chain)).length).toBeLessThan(before.length / 10);
});
