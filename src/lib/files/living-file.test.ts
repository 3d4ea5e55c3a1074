import { link, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimPath, keepLivingFile, removeDeadFiles } from "./living-file.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cc-living-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** The socket of a lock whose owner was killed: it is bound, but no process listens. */
async function deadLock(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(`${path}.bound`, resolve));
  await link(`${path}.bound`, path);
  await new Promise((resolve) => server.close(resolve));
}

describe("a living file", () => {
  test("is removed with its owner, and has one owner at a time", async () => {
    const path = join(directory, "one");
    const mine = await keepLivingFile(path, "text");
    expect(await readFile(path, "utf8")).toBe("text");
    expect(await keepLivingFile(path, "other")).toBeUndefined();
    expect(await readFile(path, "utf8")).toBe("text");
    await mine?.[Symbol.asyncDispose]();
    expect(await readdir(directory)).toEqual([]);
  });

  test("is removed with its temporary files after its owner was killed, and nothing else is", async () => {
    const living = await claimPath(join(directory, "living"));
    await writeFile(join(directory, "living"), "");
    await writeFile(join(directory, "unclaimed"), "");
    await deadLock(join(directory, "dead.alive"));
    await mkdir(join(directory, "dead"));
    await writeFile(join(directory, "dead", "inside"), "");
    await writeFile(join(directory, "dead.0123456789ab.draft"), "half");
    await deadLock(join(directory, "anothers.alive"));
    await removeDeadFiles(directory, (name) => name !== "anothers");
    expect((await readdir(directory)).sort()).toEqual(["anothers.alive", "living", "living.alive", "unclaimed"]);
    await living?.[Symbol.asyncDispose]();
  });
});
