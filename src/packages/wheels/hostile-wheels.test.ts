import { readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { PackageLab } from "../../../test/support/packages/package-lab.ts";
import { buildWheel, type WheelSpec } from "../../../test/support/packages/wheel.ts";
import type { ZipEntry } from "../../../test/support/packages/zip-file.ts";
import type { PackageLimits } from "../package-limits.ts";

const base = { name: "evil", version: "1" };

async function refusal(spec: Partial<WheelSpec>, limits: Partial<PackageLimits> = {}): Promise<string> {
  await using lab = await PackageLab.open();
  lab.index.add({ ...base, ...spec });
  const before = await readdir(tmpdir());
  const error: unknown = await lab.prepare("evil", { limits }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "packages_failed", details: { reason: "archive" } });
  expect(await lab.setNames()).toEqual([]);
  expect((await readdir(tmpdir())).filter((name) => !before.includes(name) && name.includes("escaped"))).toEqual([]);
  return (error as Error).message;
}
const withEntry = (entry: Partial<ZipEntry> & { path: string }) => refusal({ entries: [{ content: "x", ...entry }] });

describe("a hostile wheel is refused before anything of it is written", () => {
  test.each([
    "../escaped.py",
    "evil/../../escaped.py",
    "/tmp/escaped.py",
    "C:/escaped.py",
    "evil\\..\\escaped.py",
    "evil/./escaped.py",
    "evil//escaped.py",
    "evil/..",
    "evil/a\nb.py",
    "evil/a\0b.py",
    `evil/${"a".repeat(256)}`,
    "a/".repeat(100).slice(0, -1),
  ])("a path that leaves the directory or that programs read differently: %j", async (path) => {
    expect(await withEntry({ path })).toMatch(/has a file with the path|invalid|absolute path/);
  });

  test("a symbolic link, a device and a named pipe", async () => {
    for (const mode of [0o120777, 0o020666, 0o010666])
      expect(await withEntry({ path: "evil/link", content: "/etc/passwd", mode })).toContain(
        "is a link or a special file",
      );
  });

  test("names that differ only in case, for files and for directories", async () => {
    expect(await withEntry({ path: "evil/__INIT__.py" })).toContain("differ only in case");
    expect(await withEntry({ path: "Evil/other.py" })).toContain("differ only in case");
  });

  test("one path twice, and a file that is the directory of another one", async () => {
    expect(await withEntry({ path: "evil/__init__.py" })).toContain("twice");
    expect(await withEntry({ path: "evil/__init__.py/x" })).toContain("is below a file");
  });

  test("a zip bomb, by its ratio, by its size and by entries that share their data", async () => {
    const entries = [{ path: "evil/zeros", content: "", claimedBytes: 65 * 1024 ** 2 }];
    expect(await refusal({ entries })).toContain("it is a zip bomb");
    expect(await refusal({}, { unpackedBytes: 10 })).toContain("unpacks to more than 10 bytes");
    const noise = Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * at * 31) % 251));
    const copies = Array.from({ length: 50 }, (_, at) => ({ path: `evil/${at}`, content: noise, dataOf: 1 }));
    expect(await refusal({ entries: [{ path: "evil/noise", content: noise }, ...copies] })).toContain("overlap");
  });

  test("a file that is larger or smaller than its header claims", async () => {
    for (const claimedBytes of [1, 1000])
      expect(await withEntry({ path: "evil/x", content: "y".repeat(100), claimedBytes })).toContain("cannot be read");
  });

  test("deep paths with no directory in common, whose names would fill the memory of the host", async () => {
    const path = (at: number) => `evil${at}/${"abcdefghijklmn/".repeat(62)}x`;
    const entries = Array.from({ length: 3_000 }, (_, at) => ({ path: path(at), content: "" }));
    expect(await refusal({ entries })).toContain("the names of its files have more than");
  });

  test("too many files", async () => {
    expect(await refusal({}, { files: 3 })).toContain("has more than 3 files");
  });
});

describe("a wheel that is not what it says is refused", () => {
  test("a file that RECORD does not have, or has with another hash", async () => {
    const without = (text: string) => text.replace(/^evil\/__init__.*\n/m, "");
    expect(await refusal({ record: without })).toContain("its RECORD has no hash of evil/__init__.py");
    const other = (text: string) => text.replace(/^(evil\/__init__.py,sha256=)./m, "$1_");
    expect(await refusal({ record: other })).toContain("does not have the hash that RECORD promises");
    const weak = (text: string) => text.replace(/^(evil\/__init__.py,)sha256=/m, "$1md5=");
    expect(await refusal({ record: weak })).toContain("its RECORD has no hash of");
    const endless = () => `"${"a".repeat(20 * 1024 ** 2)}`;
    expect(await refusal({ record: endless })).toContain("its RECORD has no hash of");
  });

  test("METADATA of another package or version", async () => {
    expect(await refusal({ metadata: "Name: other\nVersion: 1\n" })).toContain("names another package");
    expect(await refusal({ metadata: "Name: evil\nVersion: 2\n" })).toContain("names another version");
    expect(await refusal({ metadata: "" })).toContain("names another package");
  });

  test("a second .dist-info directory, or that of another package", async () => {
    expect(await withEntry({ path: "other-1.dist-info/METADATA" })).toContain("does not have one .dist-info");
    await using lab = await PackageLab.open();
    const { content } = buildWheel({ name: "other", version: "1" });
    lab.index.addFile("evil", { fileName: "evil-1-py3-none-any.whl", content });
    await expect(lab.prepare("evil")).rejects.toThrow("is that of another package");
  });

  test("a file that is no zip archive, or has an end without a beginning", async () => {
    for (const cut of [0, 60, -30]) {
      await using lab = await PackageLab.open();
      const content =
        cut === 0 ? Buffer.from("<html>") : buildWheel(base).content.subarray(...(cut > 0 ? [cut] : [0, cut]));
      lab.index.addFile("evil", { fileName: "evil-1-py3-none-any.whl", content });
      await expect(lab.prepare("evil")).rejects.toMatchObject({ details: { reason: "archive" } });
    }
  });
});

test("two packages with the same file give the same tree each time, and neither replaces the other's file", async () => {
  await using lab = await PackageLab.open();
  lab.index.add({ name: "b", version: "1", files: { "tests/__init__.py": "b", "b.py": "" } });
  lab.index.add({ name: "a", version: "1", files: { "tests/__init__.py": "a", "a.py": "" } });
  const { directory } = await lab.prepare(["b", "a"]);
  expect(await readFile(`${directory}/tests/__init__.py`, "utf8")).toBe("a");
  lab.index.add({ name: "c", version: "1", files: { a: "a file where others have a directory" } });
  lab.index.add({ name: "d", version: "1", files: { "a/x.py": "" } });
  await expect(lab.prepare(["c", "d"])).rejects.toThrow("where another package of the set has a file");
});
