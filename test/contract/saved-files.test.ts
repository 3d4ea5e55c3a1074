import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import type { Session } from "../../src/sessions/session.ts";
import { newStateDir, removeStateDir, runIn } from "../support/managers.ts";
import { skipsProcess } from "../support/process-cells.ts";

/** The wasm runner has such a test among those of its sessions: its files are never in a directory of the host. */
describe.skipIf(skipsProcess)("files of a saved session that has no directory of the host", () => {
  let stateDir: string;
  let codecell: Codecell;
  const open = async (disk = "16MiB") => {
    codecell = await Codecell.open({
      policy: { session: { persist: true }, proc: { timeout: "20s", memory: "256MiB", disk } },
      ...{ runners: [processRunner()], stateDir, filesStayInCell: true },
    });
  };
  const reopen = async (disk?: string) => {
    await codecell[Symbol.asyncDispose]();
    await open(disk);
    return codecell.session("s");
  };
  const text = async (session: Session, path: string) =>
    Buffer.from((await (await session.files()).read(path)).data).toString();
  beforeEach(async () => {
    stateDir = await newStateDir();
    await open();
  });
  afterEach(async () => {
    await codecell?.[Symbol.asyncDispose]();
    await removeStateDir(stateDir);
  });

  test("come back with its variables, also uploads, and without those that were deleted", async () => {
    const session = await codecell.session("s");
    await session.upload("in/data.bin", Buffer.alloc(3_000_000, "x"));
    const made = "os.makedirs('out')\nopen('out/a.txt', 'w').write('first')\nopen('gone', 'w').close()";
    await runIn(session, `import os\nn = 1\n${made}`);
    expect((await session.save()).files).toMatchObject({ count: 3, bytes: 3_000_005, skippedCount: 0 });
    await runIn(session, "os.remove('gone')\nopen('out/a.txt', 'w').write('other')\nopen('empty', 'w').close()");
    const back = await reopen();
    const seen = "sorted(os.listdir('.')), open('out/a.txt').read(), os.path.getsize('in/data.bin')";
    const result = await runIn(back, `import os\nn, ${seen}`);
    expect(result.value).toBe("(1, ['empty', 'in', 'out'], 'other', 3000000)");
    expect(result.notes.join(" ")).toContain("files were restored from the save after run 2");
    expect(result.artifacts).toEqual([]);
  });

  test("that only the host changed are saved too", async () => {
    const session = await codecell.session("s");
    await session.upload("a", Buffer.from("1"));
    await (await session.files()).write("b", Buffer.from("2"), { maxBytes: 10 });
    const back = await reopen();
    expect([await text(back, "a"), await text(back, "b")]).toEqual(["1", "2"]);
    await back.removeFile("a");
    expect((await (await reopen()).listFiles()).files.map(({ path }) => path)).toEqual(["b"]);
  });

  test("are the same save until one of them changes, also after a restart", async () => {
    const session = await codecell.session("s");
    await runIn(session, "for n in range(50): open(f'{n}.txt', 'w').write(str(n))\nopen('copy.txt', 'w').write('7')");
    const first = await session.save();
    expect(first.files).toMatchObject({ count: 51 });
    await runIn(session, "open('7.txt', 'a').write('!')");
    const second = await session.save();
    expect(second.files?.sha256).not.toBe(first.files?.sha256);
    await runIn(session, "1");
    expect((await session.save()).files?.sha256).toBe(second.files?.sha256);
    const back = await reopen();
    const read = await Promise.all(["7.txt", "copy.txt", "49.txt"].map((path) => text(back, path)));
    expect(read).toEqual(["7!", "7", "49"]);
    await runIn(back, "2");
    expect((await back.save()).files?.sha256).toBe(second.files?.sha256);
  });

  test("that do not fit into the next cell are named, and stay in every later save", async () => {
    const session = await codecell.session("s");
    await runIn(session, "open('large', 'wb').write(bytes(6 << 20))\nopen('small', 'w').write('x')");
    const tight = await reopen("2MiB");
    const result = await runIn(tight, "import os\nopen('new', 'w').close()\nsorted(os.listdir('.'))");
    expect(result.value).toBe("['new', 'small']");
    expect(result.notes.join(" ")).toMatch(/but not all: large \(.*full/);
    expect((await tight.save()).files).toMatchObject({ count: 3 });
    const sizes = await runIn(await reopen(), "import os\nos.path.getsize('large'), os.path.exists('new')");
    expect(sizes.value).toBe("(6291456, True)");
  });

  test("that are links are not saved, and the save and the next result say so", async () => {
    const session = await codecell.session("s");
    await runIn(session, "import os\nos.symlink('/etc', 'link')\nopen('file', 'w').close()");
    const { files } = await session.save();
    expect(files).toMatchObject({ count: 1, skippedCount: 1 });
    const { notes } = await runIn(session, "1");
    expect(notes.join(" ")).toContain("not all files were saved: links, special files and unusable names (1 left out)");
    await session.save();
    expect((await runIn(session, "2")).notes).toEqual([]);
  });
});
