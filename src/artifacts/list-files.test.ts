import { writeFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cpuMsOf } from "../../test/support/cpu-time.ts";
import { openTestWorkspace, type TestWorkspace } from "../../test/support/test-workspace.ts";
import { isThorough } from "../../test/support/thorough.ts";
import { openWorkspaceFiles, type WorkspaceFiles } from "./workspace-files.ts";

let root: string;
let files: WorkspaceFiles;
let place: TestWorkspace;

beforeEach(async () => {
  place = await openTestWorkspace();
  ({ root, files } = place);
});

afterEach(() => place[Symbol.asyncDispose]());

describe("a listing of files", () => {
  test("is sorted, paged and filtered by prefix, and shows each file once", async () => {
    const names = ["a", "a.txt", "a/b", "a/c/d", "a0", "b/x", "B", "ä", "z"].filter((name) => name !== "a");
    for (const name of names) await files.write(name, Buffer.from(name), { maxBytes: 99 });
    const whole = await files.list();
    expect(whole.files.map(({ path }) => path)).toEqual([...names].sort());
    expect(whole).toMatchObject({ leftOut: 0, truncated: false });
    expect(whole).not.toHaveProperty("next");
    for (let limit = 1; limit <= names.length; limit++) {
      const seen: string[] = [];
      for (let after: string | undefined = ""; after !== undefined; ) {
        const page = await files.list({ limit, after });
        seen.push(...page.files.map(({ path }) => path));
        after = page.next;
      }
      expect(seen).toEqual([...names].sort());
    }
    const paths = async (prefix: string) => (await files.list({ prefix })).files.map(({ path }) => path);
    expect(await paths("a/")).toEqual(["a/b", "a/c/d"]);
    expect(await paths("a/c/d")).toEqual(["a/c/d"]);
    expect(await paths("a")).toEqual(["a.txt", "a/b", "a/c/d", "a0"]);
    expect(await paths("../")).toEqual([]);
  });

  test("leaves out unprintable names and files that are still being written", async () => {
    for (const name of ["a\nb", "\u001b[2J", "x\u202egnp", "back\\slash"]) await writeFile(join(root, name), "");
    await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0x41])]), "");
    await mkdir(join(root, "bad\ndir"));
    await writeFile(join(root, "bad\ndir/x"), "");
    async function* source() {
      yield Buffer.from("x");
      expect(await files.list()).toEqual({ files: [], leftOut: 6, truncated: false });
    }
    await files.write("good", source(), { maxBytes: 9 });
    expect(await files.list()).toMatchObject({ files: [{ path: "good", size: 1 }], leftOut: 6 });
  });

  test("visits few entries in each round of the event loop, even beside many other listings", async () => {
    for (let at = 0; at < 1_500; at++) writeFileSync(join(root, `${at}`), "");
    let [visited, most, isDone] = [0, 0, false];
    const count = () => {
      most = Math.max(most, visited);
      visited = 0;
      if (!isDone) setImmediate(count);
    };
    const deny = () => {
      visited++;
      return undefined;
    };
    await using counted = await openWorkspaceFiles(root, { deny });
    setImmediate(count);
    const lists = await Promise.all(Array.from({ length: 16 }, () => counted.list({ limit: 10 })));
    isDone = true;
    expect(lists.map((list) => list.files.length)).toEqual(Array(16).fill(10));
    expect(most).toBeGreaterThan(100);
    expect(most).toBeLessThan(1_000);
  });

  test("stops at its limits and says so", async () => {
    await using small = await openWorkspaceFiles(root, { limits: { maxEntries: 10, maxDepth: 3 } });
    await mkdir(join(root, "1/2/3/4"), { recursive: true });
    await writeFile(join(root, "1/2/3/4/deep"), "");
    await writeFile(join(root, "1/2/shallow"), "");
    expect(await small.list()).toMatchObject({ files: [{ path: "1/2/shallow" }], truncated: true });
    for (let index = 0; index < 20; index++) await writeFile(join(root, `f${index}`), "");
    const { files: found, truncated } = await small.list();
    expect([found.length <= 10, truncated]).toEqual([true, true]);
    expect((await files.list()).files).toHaveLength(22);
  });

  test("takes a fraction of a millisecond per file", async () => {
    const directories = isThorough ? 100 : 20;
    for (let directory = 0; directory < directories; directory++) {
      await mkdir(join(root, `d${directory}`));
      await Promise.all(
        Array.from({ length: 100 }, (_, index) => writeFile(join(root, `d${directory}/f${index}`), "")),
      );
    }
    const spentMs = await cpuMsOf(async () => {
      const page = await files.list({ limit: 100 });
      const all = await files.list({ limit: 10_000 });
      expect([page.files.length, all.files.length]).toEqual([100, 100 * directories]);
      expect(page.next).toBe(page.files.at(-1)?.path);
    });
    expect(spentMs).toBeLessThan(30 * directories);
  }, 30_000);

  test("skips a directory that it may not read", async () => {
    await files.write("closed/x", Buffer.from("x"), { maxBytes: 9 });
    await chmod(join(root, "closed"), 0);
    await expect(files.list()).resolves.toMatchObject({ truncated: false });
    await chmod(join(root, "closed"), 0o755);
  });
});
