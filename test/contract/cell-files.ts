import { describe, expect, test } from "vitest";
import type { WorkspaceFiles } from "../../src/artifacts/workspace-files.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { RunResult } from "../../src/sessions/runs/run.ts";

/** The files of a session that has no directory of the host, the same in every runner. */
export function cellFilesContract(opened: () => LiveSession, { limitsDisk }: { limitsDisk: boolean }): void {
  const run = (code: string) => opened().run(code);
  const value = async (expression: string) => (await run(expression)).value;
  const files = (): WorkspaceFiles => {
    const session = opened();
    if (!session.files) throw new Error("the session has no files");
    return session.files;
  };
  const text = async (path: string) => Buffer.from((await files().read(path)).data).toString();
  const paths = (result: RunResult) => result.artifacts.map(({ name }) => name);

  describe("the files that a run changed are in its result", () => {
    test("by name, size and content, once", async () => {
      const result = await run("import os\nos.makedirs('plots/new')\nopen('plots/new/a.csv', 'w').write('a,b\\n')");
      expect(result.artifacts).toMatchObject([
        { name: "plots/new/a.csv", size: 4, mimeType: "text/csv; charset=utf-8", run: result.id },
      ]);
      expect(paths(await run("open('plots/new/a.csv').read()"))).toEqual([]);
    });

    test("up to a limit, and all files are kept", async () => {
      const result = await run("for n in range(1500): open(f'many-{n:04}', 'w').close()");
      expect(result.artifacts).toHaveLength(100);
      expect(result.leftOut[0]).toMatchObject({ name: "many-0100", reason: "count_limit" });
      expect((await files().list({ prefix: "many-", limit: 10_000 })).files).toHaveLength(1500);
    });
  });

  describe("the host has the files of a cell", () => {
    test("that are uploaded and downloaded unchanged, in any size", async () => {
      const bytes = Buffer.alloc(5_000_001, "abcdefg");
      expect(await files().write("in/deep/data.bin", bytes, { maxBytes: 2 ** 24 })).toEqual({ size: 5_000_001 });
      expect(await value("len(open('in/deep/data.bin', 'rb').read())")).toBe("5000001");
      const { data, size } = await files().read("in/deep/data.bin");
      expect([size, Buffer.from(data).equals(bytes)]).toEqual([5_000_001, true]);
      const part = await files().read("in/deep/data.bin", { start: 3_000_000, end: 3_000_007 });
      expect(Buffer.from(part.data).equals(bytes.subarray(3_000_000, 3_000_007))).toBe(true);
      const pieces: Uint8Array[] = [];
      for await (const piece of (await files().stream("in/deep/data.bin")).data) pieces.push(piece);
      expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    });

    test("that are empty, and that many requests use at once", async () => {
      const names = Array.from({ length: 12 }, (_, n) => `at-once/${n}`);
      await Promise.all(
        names.map((name, n) => files().write(name, Buffer.alloc(n * 100_000, n), { maxBytes: 2 ** 24 })),
      );
      const read = await Promise.all(names.map(async (name) => (await files().read(name)).data));
      expect(read.map((data) => [data.length, data.at(-1)])).toEqual(
        names.map((_, n) => [n * 100_000, n === 0 ? undefined : n]),
      );
    });

    test("that are no artifacts of the next run after an upload", async () => {
      await files().write("uploaded.txt", Buffer.from("x"), { maxBytes: 10 });
      expect(paths(await run("1"))).toEqual([]);
      expect(paths(await run("open('uploaded.txt', 'a').write('y')"))).toEqual(["uploaded.txt"]);
    });

    test("that replace existing files, and a symlink itself instead of its target", async () => {
      await run("import os\nopen('target', 'w').write('untouched')\nos.symlink('target', 'alias')");
      await files().write("alias", Buffer.from("new"), { maxBytes: 10 });
      expect([await text("alias"), await text("target")]).toEqual(["new", "untouched"]);
    });

    test("that are listed in pages, in order", async () => {
      await run("import os\nos.makedirs('list/b')\nfor n in ('list/c', 'list/a', 'list/b/z'): open(n, 'w').write(n)");
      await run("os.symlink('/etc', 'list/link')\nopen('list/bad\\nname', 'w').close()");
      const first = await files().list({ prefix: "list/", limit: 2 });
      expect(first).toMatchObject({ files: [{ path: "list/a", size: 6 }, { path: "list/b/z" }], next: "list/b/z" });
      const second = await files().list({ prefix: "list/", limit: 2, after: "list/b/z" });
      expect(second).toMatchObject({ files: [{ path: "list/c" }], leftOut: 2, truncated: false });
    });

    test("that are removed one by one", async () => {
      await files().write("away", Buffer.from("x"), { maxBytes: 10 });
      await files().remove("away");
      await expect(files().stat("away")).rejects.toMatchObject({ code: "file_missing" });
      await expect(files().remove("list")).rejects.toMatchObject({ code: "file_refused" });
    });

    test("but none with a name that leads elsewhere or cannot be shown", async () => {
      for (const name of ["../tmp/elsewhere", "/tmp/elsewhere", "a/../b", "", "a//b", "a\nb", "a\\b"]) {
        const refused = { code: "file_refused" };
        await expect(files().read(name)).rejects.toMatchObject(refused);
        await expect(files().write(name, Buffer.from("x"), { maxBytes: 10 })).rejects.toMatchObject(refused);
      }
    });

    test("and none behind a symlink, in the path or at its end", async () => {
      await run(
        [
          "import os, tempfile",
          "elsewhere = tempfile.mkdtemp(dir=os.environ.get('TMPDIR', '/tmp'))",
          "open(elsewhere + '/secret', 'w').write('x')",
          "os.symlink(elsewhere, 'out')",
          "os.symlink(elsewhere + '/secret', 's')",
        ].join("\n"),
      );
      for (const path of ["out/secret", "s"]) {
        await expect(files().read(path)).rejects.toMatchObject({ code: "file_refused" });
      }
      await expect(files().write("out/new", Buffer.from("x"), { maxBytes: 10 })).rejects.toMatchObject({
        code: "file_refused",
      });
      expect(await value("os.listdir(elsewhere)")).toBe("['secret']");
    });

    test("and no part of an upload that exceeds its limit, fails or fills the disk", async () => {
      const before = await value("import os\nsorted(os.listdir('.'))");
      async function* endless() {
        for (;;) yield Buffer.alloc(1_000_000);
      }
      async function* broken() {
        yield Buffer.from("half");
        throw new Error("the sender went away");
      }
      const write = (source: AsyncIterable<Uint8Array>, maxBytes: number) =>
        files().write("new/dir/x", source, { maxBytes });
      await expect(write(endless(), 3_500_000)).rejects.toMatchObject({ code: "too_large" });
      if (limitsDisk)
        await expect(write(endless(), 2 ** 30)).rejects.toMatchObject({
          code: "too_large",
          message: expect.stringContaining("disk"),
        });
      await expect(write(broken(), 100)).rejects.toThrow("went away");
      expect(await value("sorted(os.listdir('.'))")).toBe(before);
      await files().write("fits", Buffer.alloc(3_000_000), { maxBytes: 2 ** 24 });
      await files().remove("fits");
    });

    test("and says so if one changes while it is read", async () => {
      await run("open('moving', 'w').write('x' * 5_000_000)");
      const stream = await files().stream("moving");
      await run("open('moving', 'r+').write('y')");
      const reading = (async () => {
        for await (const _ of stream.data);
      })();
      await expect(reading).rejects.toMatchObject({
        code: "file_refused",
        message: expect.stringContaining("changed"),
      });
    });

    test("also after user code has broken os and io", async () => {
      await run(
        "import os, io\nwhole = os.open, os.stat, os.listdir, io.open\nos.open = os.stat = os.listdir = io.open = open = None",
      );
      await files().write("anyway", Buffer.from("fine"), { maxBytes: 10 });
      expect(await text("anyway")).toBe("fine");
      // on wasm a reset keeps the modules as they are
      await run("os.open, os.stat, os.listdir, io.open = whole\ndel open");
      await opened().reset();
    });
  });
}
