import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startSwapper } from "../../test/support/swapper.ts";
import { openTestWorkspace, type TestWorkspace } from "../../test/support/test-workspace.ts";
import type { WorkspaceFiles } from "./workspace-files.ts";

let base: string;
let root: string;
let canary: string;
let files: WorkspaceFiles;
let place: TestWorkspace;
const text = async (path: string) => Buffer.from((await files.read(path)).data).toString();

beforeEach(async () => {
  place = await openTestWorkspace();
  ({ base, root, canary, files } = place);
});

afterEach(() => place[Symbol.asyncDispose]());

describe("a race in the workspace", () => {
  /** Reads for 300 ms; returns what was seen and how often. `naive` shows that the race is real. */
  async function watch(path: string, naive: string) {
    const seen = { good: 0, refused: 0, naiveCanary: 0 };
    const started = performance.now();
    while (isUndecided(seen, started)) {
      const got = await text(path).catch((error: { code?: string }) => error.code);
      expect(["good", "file_refused", "file_missing"]).toContain(got);
      if (got === "good") seen.good++;
      else seen.refused++;
      if ((await readFile(naive, "utf8").catch(() => "")) === "CANARY") seen.naiveCanary++;
    }
    return seen;
  }

  test("a file that is swapped for a link never leaks the target", async () => {
    const target = join(root, "file");
    await writeFile(target, "good");
    const swap = `
      fs.symlinkSync(args[1], args[2] + "/l"); fs.renameSync(args[2] + "/l", args[0]);
      fs.writeFileSync(args[2] + "/f", "good"); fs.renameSync(args[2] + "/f", args[0]);`;
    await using _swapper = await startSwapper(swap, [target, canary, root]);
    const seen = await watch("file", target);
    expect(Math.min(seen.good, seen.refused, seen.naiveCanary)).toBeGreaterThan(0);
  });

  test("a directory that is swapped for a link never gives access to read, list, write or remove in the target", async () => {
    await mkdir(join(root, "dir"));
    await mkdir(join(base, "outside"));
    await writeFile(join(root, "dir/file"), "good");
    await writeFile(join(base, "outside/file"), "CANARY");
    const swap = `
      try { fs.renameSync("dir", "aside"); fs.symlinkSync("../outside", "dir"); pause(); } catch {}
      try { fs.rmSync("dir", { recursive: true }); fs.renameSync("aside", "dir"); pause(); } catch {}`;
    await using _swapper = await startSwapper(`process.chdir(args[0]); ${swap}`, [root]);
    const seen = await watch("dir/file", join(root, "dir/file"));
    expect(Math.min(seen.good, seen.refused, seen.naiveCanary)).toBeGreaterThan(0);
    for (const end = performance.now() + 300; performance.now() < end; ) {
      await files.write("dir/upload", Buffer.from("x"), { maxBytes: 9 }).catch(() => {});
      await files.remove("dir/upload").catch(() => {});
      for (const { path, size } of (await files.list()).files) if (path.endsWith("/file")) expect(size).toBe(4);
    }
    expect(await readdir(join(base, "outside"))).toEqual(["file"]);
    expect(await readFile(join(base, "outside/file"), "utf8")).toBe("CANARY");
  });

  test("a file that is swapped for a named pipe never makes a call hang", async () => {
    const target = join(root, "file");
    execFileSync("mkfifo", [join(root, "pipe")]);
    const swap = `
      fs.linkSync(args[1] + "/pipe", args[1] + "/p"); fs.renameSync(args[1] + "/p", args[0]);
      fs.writeFileSync(args[1] + "/f", "good"); fs.renameSync(args[1] + "/f", args[0]);`;
    await using _swapper = await startSwapper(swap, [target, root]);
    const seen = { good: 0, rejected: 0 };
    const started = performance.now();
    while (isUndecided(seen, started)) {
      const got = await text("file").catch((error: { code?: string }) => error.code);
      if (got === "good") seen.good++;
      else seen.rejected++;
    }
    expect(Math.min(seen.good, seen.rejected)).toBeGreaterThan(0);
  });
});

/** Runs for at least 300 ms and until every outcome was seen: a race that never happened proves nothing. */
function isUndecided(seen: Record<string, number>, started: number): boolean {
  const tookMs = performance.now() - started;
  return tookMs < 300 || (tookMs < 30_000 && Object.values(seen).includes(0));
}
