import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TarEntry, tarFile } from "../../../test/support/packages/sdist.ts";
import { readTarFiles, type TarBounds } from "./tar-reader.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "codecell-tar-"));
});
afterAll(() => rm(directory, { recursive: true }));

const bounds: TarBounds = { entries: 10, bytes: 1_000_000, fileBytes: 2_000 };

async function read(content: Buffer, changes: Partial<TarBounds> = {}): Promise<Record<string, string>> {
  const path = join(directory, "one.tar.gz");
  await writeFile(path, content);
  const files = await readTarFiles(path, (name) => name.endsWith("/wanted"), { ...bounds, ...changes });
  return Object.fromEntries([...files].map(([name, data]) => [name, data.toString()]));
}
const readEntries = (entries: readonly TarEntry[], changes?: Partial<TarBounds>) =>
  read(gzipSync(tarFile(entries)), changes);
const pax = (key: string, value: string) => {
  const rest = ` ${key}=${value}\n`;
  const length = [2, 3].map((digits) => rest.length + digits).find((all) => `${all}${rest}`.length === all);
  return `${length}${rest}`;
};

describe("the tar reader", () => {
  test("finds the files that are wanted, whatever is around them", async () => {
    const found = await readEntries([
      { path: "a/", type: "5" },
      { path: "a/other", content: "x".repeat(1500) },
      { path: "a/wanted", content: "yes" },
      { path: "a/link", type: "2" },
      { path: "b/wanted", content: "" },
    ]);
    expect(found).toEqual({ "a/wanted": "yes", "b/wanted": "" });
  });

  test("takes long names from the header before", async () => {
    const long = `${"d".repeat(150)}/wanted`;
    expect(
      await readEntries([
        { path: "x", type: "x", content: pax("path", long) },
        { path: "s", content: "1" },
      ]),
    ).toEqual({
      [long]: "1",
    });
    const gnu = [
      { path: "././@LongLink", type: "L", content: `${long}\0` },
      { path: "s", content: "2" },
    ];
    expect(await readEntries(gnu)).toEqual({ [long]: "2" });
    // and only for one entry
    expect(await readEntries([...gnu, { path: "t", content: "3" }])).toEqual({ [long]: "2" });
  });

  test.each<[string, readonly TarEntry[], RegExp]>([
    ["two files with one path", [{ path: "a/wanted" }, { path: "a/wanted" }], /has a\/wanted twice/],
    ["a link instead of a file", [{ path: "a/wanted", type: "2" }], /is not a file/],
    ["too many entries", Array.from({ length: 11 }, () => ({ path: "a" })), /more than 10 files/],
    ["a wanted file that is too large", [{ path: "a/wanted", content: "x".repeat(2001) }], /at most 2000 bytes/],
    [
      "wanted files that are too large together",
      [1, 2, 3].map((at) => ({ path: `${at}/wanted`, content: "x".repeat(700) })),
      /3\/wanted is too large: at most 2000 bytes/,
    ],
    ["a long name that is too large", [{ path: "l", type: "L", content: "x".repeat(2001) }], /at most 2000 bytes/],
    ["a size that the archive does not have", [{ path: "a", claimedBytes: 1_000_000 }], /ends too early/],
    ["a size in base 256", [{ path: "a", size: "\x80\0\0\0\0\0\0\0\0\0\0\x01" }], /number in a header/],
    ["a negative size", [{ path: "a", size: "-0000000001\0" }], /number in a header/],
    ["a damaged header", [{ path: "a", checksum: "000001\0 " }], /header is damaged/],
    ["a size in an extended header", [{ path: "x", type: "x", content: pax("size", "9") }], /changes a size/],
    ["a damaged extended header", [{ path: "x", type: "x", content: "999 path=a\n" }], /extended header is damaged/],
    ["an extended header of zeros", [{ path: "x", type: "x", content: "0 a=b\n" }], /extended header is damaged/],
    ["nothing", [], /ends too early/],
  ])("refuses %s", async (_, entries, message) => {
    await expect(readEntries(entries)).rejects.toThrow(message);
  });

  test("refuses what is not a .tar.gz", async () => {
    await expect(read(Buffer.from("hello"))).rejects.toThrow(/not a \.tar\.gz/);
    const whole = gzipSync(tarFile([{ path: "a/wanted", content: "x".repeat(1000) }]));
    await expect(read(whole.subarray(0, 60))).rejects.toThrow(/damaged|too early/);
    await expect(read(gzipSync(Buffer.from("x".repeat(600))))).rejects.toThrow(/header/);
  });

  test("stops at its bound on bytes, and at a bomb before that", async () => {
    const zeros = gzipSync(tarFile([{ path: "a", content: Buffer.alloc(2_000_000) }]));
    await expect(read(zeros)).rejects.toThrow(/more than 1000000 bytes/);
    const bomb = gzipSync(tarFile([{ path: "a", content: Buffer.alloc(80 * 1024 ** 2) }]));
    await expect(read(bomb, { bytes: 1024 ** 3 })).rejects.toThrow(/bomb/);
  });
});
