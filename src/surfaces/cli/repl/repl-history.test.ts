import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ReplHistory } from "./repl-history.ts";

test("typed lines are kept below the state directory, newest first, and never below the working directory", async () => {
  const home = await mkdtemp(join(tmpdir(), "cc-history-"));
  try {
    const before = await readdir(process.cwd());
    for (const env of [
      { HOME: "relative-home", XDG_STATE_HOME: home },
      { HOME: home, XDG_STATE_HOME: "relative" },
    ]) {
      const written = new ReplHistory(env);
      written.lines = ["b = 2", "a = 1"];
      await written.save();
      const read = new ReplHistory(env);
      await read.load();
      expect(read.lines).toEqual(["b = 2", "a = 1"]);
    }
    expect((await readdir(home)).sort()).toEqual([".local", "codecell"]);
    expect(await readdir(process.cwd())).toEqual(before);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
