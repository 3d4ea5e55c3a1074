import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { SnapshotInfo } from "../session-record.ts";
import { openSavedView } from "./saved-files-view.ts";

const blobs = new Map<string, Buffer>();
const keep = (data: Buffer) => {
  const sha256 = createHash("sha256").update(data).digest("hex");
  blobs.set(sha256, data);
  return sha256;
};
let streams = 0;
let readBytes = 0;
const damaged = new Set<string>();
async function* readBlob(sha256: string, start = 0) {
  streams++;
  const data = blobs.get(sha256) ?? Buffer.alloc(0);
  for (let at = start; at < data.length; at += 700_000) {
    const piece = data.subarray(at, at + 700_000);
    readBytes += piece.length;
    yield piece;
  }
  if (damaged.has(sha256)) throw new Error("damaged");
}
const large = Buffer.alloc(3_000_000, "0123456789");
const list = [
  { path: "a.txt", size: 2, sha256: keep(Buffer.from("hi")) },
  { path: "dir/large", size: large.length, sha256: keep(large) },
];
const info = {
  sha256: keep(Buffer.from(JSON.stringify(list))),
  count: 2,
  bytes: 3_000_002,
  skipped: [],
  skippedCount: 0,
};
const open = () => openSavedView({ savedMs: 7 } as SnapshotInfo, info, readBlob);

test("the files of a save are listed in pages and read in ranges without a cell", async () => {
  await using files = await open();
  expect(await files.list({ limit: 1 })).toMatchObject({ files: [{ path: "a.txt", size: 2 }], next: "a.txt" });
  expect((await files.list({ after: "a.txt" })).files).toEqual([{ path: "dir/large", size: 3_000_000, modifiedMs: 7 }]);
  const { data } = await files.read("dir/large", { start: 1_999_995, end: 2_000_005 });
  expect(Buffer.from(data).toString()).toBe("5678901234");
  await expect(files.read("../a.txt")).rejects.toMatchObject({ code: "file_refused" });
  await expect(files.stat("b")).rejects.toMatchObject({ code: "file_missing" });
});

test("a range of a large file takes from the store what it needs, not what is before it", async () => {
  await using files = await open();
  readBytes = 0;
  const { data } = await files.read("dir/large", { start: 2_999_990, end: 3_000_000 });
  expect([Buffer.from(data).toString(), readBytes]).toEqual(["0123456789", 10]);
  const pieces: Uint8Array[] = [];
  for await (const piece of (await files.stream("dir/large", { start: 1_000_005 })).data) pieces.push(piece);
  expect(Buffer.concat(pieces).equals(large.subarray(1_000_005))).toBe(true);
  expect(readBytes).toBe(10 + 1_999_995);
});

test("a file whose bytes are damaged does not end as if it were complete", async () => {
  await using files = await open();
  const [, { sha256 = "" } = {}] = list;
  damaged.add(sha256);
  const { data } = await files.stream("dir/large");
  const reading = (async () => {
    let bytes = 0;
    for await (const piece of data) bytes += piece.length;
    return bytes;
  })();
  await expect(reading).rejects.toThrow("damaged");
  damaged.clear();
});

test("a file of a save that is read from its start to its end is one stream of the store", async () => {
  await using files = await open();
  streams = 0;
  const pieces: Uint8Array[] = [];
  for await (const piece of (await files.stream("dir/large")).data) pieces.push(piece);
  expect([Buffer.concat(pieces).equals(large), streams]).toEqual([true, 1]);
});

test("the files of a save cannot be changed", async () => {
  await using files = await open();
  await expect(files.remove("a.txt")).rejects.toMatchObject({ code: "not_supported" });
  await expect(files.write("new", Buffer.from("x"), { maxBytes: 9 })).rejects.toMatchObject({ code: "not_supported" });
});
