import { createHash } from "node:crypto";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { CellFiles } from "../../../kernel/cell-files.ts";
import { CodecellError } from "../../../lib/errors.ts";
import type { HeldSession } from "../session-storage.ts";
import type { SavedFile, SavedFiles } from "./saved-files.ts";
import { WorkspaceSaves } from "./workspace-saves.ts";

interface FakeFile {
  data: Buffer;
  version: string;
  /** changed too recently to have a version in a list */
  isFresh?: boolean;
  problem?: string;
}

/** Files in memory that count how often each was read. */
class FakeCell {
  readonly files = new Map<string, FakeFile>();
  reads: string[] = [];
  isTruncated = false;
  /** called with each read, to change a file in the middle of it */
  onRead = (_path: string): void => {};
  #versions = 0;
  #uploads = new Map<number, Buffer>();
  #count = 0;

  put(path: string, text: string): void {
    this.files.set(path, { data: Buffer.from(text), version: `${++this.#versions}` });
  }

  async list({ after, limit }: { after: string; limit: number }) {
    const paths = [...this.files.keys()].sort().filter((path) => path > after);
    const files = paths.slice(0, limit).map((path) => {
      const { data, version, isFresh } = this.files.get(path) as FakeFile;
      return { path, size: data.length, modifiedMs: 0, ...(isFresh ? {} : { version }) };
    });
    const next = paths.length > limit ? { next: files.at(-1)?.path } : {};
    return { files, ...next, leftOut: 0, truncated: this.isTruncated };
  }

  async read(path: string, start: number, end: number) {
    this.reads.push(path);
    const file = this.files.get(path);
    if (!file) throw new CodecellError("file_missing", `there is no file ${path}`);
    if (file.problem !== undefined) throw new CodecellError("file_refused", file.problem);
    const data = file.data.subarray(start, end);
    const facts = { size: file.data.length, modifiedMs: 0, version: file.version };
    this.onRead(path);
    return { data, file: facts };
  }

  newUpload = () => ++this.#count;
  async write(upload: number, data: Uint8Array) {
    this.#uploads.set(upload, Buffer.concat([this.#uploads.get(upload) ?? Buffer.alloc(0), data]));
  }
  async place(upload: number, path: string) {
    this.put(path, (this.#uploads.get(upload) as Buffer).toString());
  }
  async drop() {}
}

let cell: FakeCell;
let blobs: Map<string, Buffer>;
let saves: WorkspaceSaves;
const held = {
  async writeBlob(source: AsyncIterable<Uint8Array>) {
    const pieces: Uint8Array[] = [];
    for await (const piece of source) pieces.push(piece);
    const data = Buffer.concat(pieces);
    const sha256 = createHash("sha256").update(data).digest("hex");
    blobs.set(sha256, data);
    return { sha256, bytes: data.length };
  },
  async pruneBlobs(kept: ReadonlySet<string>) {
    for (const sha256 of blobs.keys()) if (!kept.has(sha256)) blobs.delete(sha256);
  },
} as unknown as HeldSession;
beforeEach(() => {
  cell = new FakeCell();
  blobs = new Map();
  saves = new WorkspaceSaves();
});

const inCell = () => cell as unknown as CellFiles;
const save = async (maxBytes = 2 ** 30) => {
  const info = await saves.save(inCell(), held, maxBytes);
  await saves.written(held);
  return info;
};
const saved = ({ sha256 }: SavedFiles) =>
  Object.fromEntries(
    (JSON.parse(String(blobs.get(sha256))) as SavedFile[]).map((file) => [file.path, String(blobs.get(file.sha256))]),
  );
const restored = async (info: SavedFiles) => {
  const again = new WorkspaceSaves();
  cell = new FakeCell();
  saves = again;
  return again.restore(inCell(), readBlob, info);
};
async function* readBlob(sha256: string) {
  const data = blobs.get(sha256);
  if (!data) throw new CodecellError("file_missing", "the stored bytes no longer exist");
  yield data;
}

test("a file is read again only if its version is another, or was not known", async () => {
  cell.put("same", "1");
  cell.put("changed", "2");
  cell.put("fresh", "3");
  (cell.files.get("fresh") as FakeFile).isFresh = true;
  await save();
  cell.reads = [];
  cell.put("changed", "4");
  expect(saved(await save())).toEqual({ same: "1", changed: "4", fresh: "3" });
  expect(cell.reads.sort()).toEqual(["changed", "fresh"]);
});

test("files with one content are stored once, and what no save names is removed", async () => {
  cell.put("a", "same");
  cell.put("b", "same");
  await save();
  expect(blobs.size).toBe(2);
  cell.put("a", "other");
  cell.files.delete("b");
  const info = await save();
  expect([saved(info), blobs.size]).toEqual([{ a: "other" }, 2]);
});

test("a large file that changes in the middle of its pieces is read again, and never stored as a mix", async () => {
  cell.put("large", "a".repeat(5_000_000));
  let isFirst = true;
  cell.onRead = () => {
    if (isFirst) cell.put("large", "b".repeat(5_000_000));
    isFirst = false;
  };
  expect(saved(await save()).large).toBe("b".repeat(5_000_000));
  cell.onRead = () => cell.put("large", `${Math.random()}`.repeat(300_000));
  const { skipped } = await save();
  expect(skipped).toMatchObject([
    { name: "large", reason: expect.stringContaining("changed while it was being saved") },
  ]);
});

test("a file that cannot be read is named, and its last saved content is kept", async () => {
  cell.put("a", "old");
  await save();
  cell.put("a", "new");
  cell.put("b", "never");
  for (const path of ["a", "b"]) (cell.files.get(path) as FakeFile).problem = "permission denied";
  const info = await save();
  expect(info.skipped).toEqual([
    { name: "a", reason: "permission denied; its last saved content is kept" },
    { name: "b", reason: "permission denied" },
  ]);
  expect(saved(info)).toEqual({ a: "old" });
});

test("a list that is not complete deletes nothing from the save", async () => {
  cell.put("a", "1");
  cell.put("z", "2");
  await save();
  cell.files.delete("z");
  cell.isTruncated = true;
  const info = await save();
  expect([saved(info), info.skippedCount]).toEqual([{ a: "1", z: "2" }, 1]);
  cell.isTruncated = false;
  expect(saved(await save())).toEqual({ a: "1" });
});

test("a save that no record names does not count, and its bytes go with the next one", async () => {
  cell.put("a", "1");
  const first = await save();
  cell.put("a", "2");
  await saves.save(inCell(), held, 2 ** 30);
  expect(saved(first)).toEqual({ a: "1" });
  cell.put("a", "3");
  expect(saved(await save())).toEqual({ a: "3" });
  expect(blobs.size).toBe(2);
});

test("saves that fail again and again leave no more behind than one of them", async () => {
  cell.put("a", "kept");
  const first = await save();
  cell.put("b", "last");
  cell.onRead = (path) => {
    if (path === "b") throw new CodecellError("cell_lost", "the interpreter crashed");
  };
  for (let round = 0; round < 5; round++) {
    cell.put("a", `new ${round}`);
    await saves.removeLeftovers(held);
    await expect(saves.save(inCell(), held, 2 ** 30)).rejects.toThrow("crashed");
  }
  expect(saved(first)).toEqual({ a: "kept" });
  expect(blobs.size).toBe(3);
});

test("what a record may name is not removed, even if nobody knows whether it was written", async () => {
  cell.put("a", "1");
  await save();
  cell.put("a", "2");
  const inDoubt = await saves.save(inCell(), held, 2 ** 30);
  saves.naming();
  await saves.removeLeftovers(held);
  expect(saved(inDoubt)).toEqual({ a: "2" });
});

test("a cell that takes too long to send its files is not waited for, and what was saved of the rest is kept", async () => {
  cell.put("z", "old");
  await save();
  for (let number = 10; number < 30; number++) cell.put(`f${number}`, "new");
  cell.put("z", "new");
  let nowMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  cell.onRead = () => {
    nowMs += 100_000;
  };
  const info = await save();
  const reason = "the cell took too long to send its files; its last saved content is kept";
  expect(info.skipped).toContainEqual({ name: "z", reason });
  expect([saved(info).z, saved(info).f10, cell.reads.length]).toEqual(["old", "new", 2]);
});

test("more than the limit is left out by name", async () => {
  cell.put("a", "12345");
  cell.put("b", "67890");
  const info = await save(8);
  expect([saved(info), info.skipped[0]?.name]).toEqual([{ a: "12345" }, "b"]);
});

test("a cell that sends more than it lists is stopped at the limit", async () => {
  cell.put("a", "small");
  const { list } = cell;
  cell.list = async (options) => {
    const page = await list.call(cell, options);
    cell.put("a", "x".repeat(3_000_000));
    return page;
  };
  const info = await save(1_000_000);
  expect([info.count, info.skipped]).toEqual([0, [{ name: "a", reason: "it grew while it was being saved" }]]);
  expect([...blobs.values()].every(({ length }) => length < 1000)).toBe(true);
});

test("files that were lost again and again do not make saves larger than the limit", async () => {
  for (const name of ["a", "b", "c"]) {
    cell.put(name, "12345");
    const info = await save(8);
    expect(info.bytes).toBeLessThanOrEqual(8);
    expect(saved(info)[name]).toBe("12345");
    cell.files.clear();
    saves.lost();
  }
  cell.put("d", "6");
  const { skipped, count } = await save(8);
  expect([count, skipped]).toEqual([2, []]);
});

test("restored files are known: the next save reads none of them", async () => {
  cell.put("dir/a", "1");
  cell.put("empty", "");
  const info = await save();
  expect(await restored(info)).toEqual([]);
  expect((await save()).sha256).toBe(info.sha256);
  expect(cell.reads).toEqual([]);
});

test("a file that cannot be restored is named, and stays saved until the program writes one of that name", async () => {
  cell.put("a", "1");
  cell.put("b", "2");
  const info = await save();
  const { place } = FakeCell.prototype;
  FakeCell.prototype.place = async function (upload, path) {
    if (path === "b") throw new CodecellError("too_large", "the disk of the cell is full");
    return place.call(this, upload, path);
  };
  expect(await restored(info)).toEqual([{ name: "b", reason: "the disk of the cell is full" }]);
  FakeCell.prototype.place = place;
  expect(saved(await save())).toEqual({ a: "1", b: "2" });
  cell.put("b", "new");
  expect(saved(await save())).toEqual({ a: "1", b: "new" });
  cell.files.delete("b");
  expect(saved(await save())).toEqual({ a: "1" });
});

test("files that were lost with the interpreter stay saved", async () => {
  cell.put("a", "1");
  await save();
  cell.files.clear();
  saves.lost();
  cell.put("b", "2");
  expect(saved(await save())).toEqual({ a: "1", b: "2" });
});
