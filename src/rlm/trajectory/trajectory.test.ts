import { appendFile, mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sampleTrajectory } from "../../../test/fakes/sample-trajectory.ts";
import { readTrajectory } from "./reader.ts";
import { TrajectoryWriter } from "./writer.ts";

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "codecell-trajectory-"));
  path = join(dir, "run.jsonl");
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function writeSample() {
  await using writer = await TrajectoryWriter.create(path);
  for (const event of sampleTrajectory()) writer.add(event);
  return writer;
}
const lines = async () => (await readFile(path, "utf8")).trimEnd().split("\n");

describe("a trajectory file", () => {
  test("is read back event by event, and its head is the writer's", async () => {
    const { head } = await writeSample();
    const read = await readTrajectory(path);
    expect(read).toEqual({ events: sampleTrajectory(), head, tornBytes: 0 });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("has the hash of the line before in every line", async () => {
    await writeSample();
    const [first, second] = (await lines()).map((line) => JSON.parse(line));
    expect(second.prev).toBe(first.hash);
    expect(first.event.type).toBe("run_start");
  });

  test("is never overwritten", async () => {
    await writeSample();
    await expect(TrajectoryWriter.create(path)).rejects.toMatchObject({ code: "usage" });
  });

  test("may end in a line that a crash cut off", async () => {
    await writeSample();
    const { size } = await stat(path);
    await truncate(path, size - 30);
    const { events, tornBytes, problem } = await readTrajectory(path);
    expect(events).toEqual(sampleTrajectory().slice(0, -1));
    expect(tornBytes).toBeGreaterThan(10);
    expect(problem).toBeUndefined();
  });

  test.each([
    ["changed", (all: string[]) => all.with(3, (all[3] ?? "").replace("print", "PRINT")), 4, "was changed"],
    ["removed", (all: string[]) => all.toSpliced(3, 1), 4, "does not follow"],
    ["duplicated", (all: string[]) => all.toSpliced(3, 0, all[3] ?? ""), 5, "does not follow"],
    ["swapped", (all: string[]) => all.with(3, all[4] ?? "").with(4, all[3] ?? ""), 4, "does not follow"],
    ["replaced by other text", (all: string[]) => all.with(3, "hello"), 4, "is not a line of a trajectory"],
  ])("that had a line %s names the line", async (_, change, line, what) => {
    await writeSample();
    await writeFile(path, `${change(await lines()).join("\n")}\n`);
    const { problem, events } = await readTrajectory(path);
    expect(problem?.line).toBe(line);
    expect(problem?.what).toContain(what);
    expect(events.length).toBeGreaterThan(10);
  });

  test("that had a line replaced by one of another trajectory names the line", async () => {
    await writeSample();
    const other = join(dir, "other.jsonl");
    await using writer = await TrajectoryWriter.create(other);
    for (const event of sampleTrajectory()) writer.add({ ...event, at: event.at + 1 });
    await writer.flush();
    const foreign = (await readFile(other, "utf8")).split("\n")[3] ?? "";
    await writeFile(path, `${(await lines()).with(3, foreign).join("\n")}\n`);
    expect((await readTrajectory(path)).problem).toMatchObject({ line: 4 });
  });

  test("that does not exist or is something else is a clear error", async () => {
    await expect(readTrajectory(path)).rejects.toMatchObject({ code: "usage", message: `${path} does not exist` });
    await writeFile(path, '{"a": 1}\n');
    await expect(readTrajectory(path)).rejects.toMatchObject({ message: `${path} is not a trajectory` });
    await expect(readTrajectory(dir)).rejects.toMatchObject({ message: `${dir} is a directory` });
  });

  test("skips an event that a newer version wrote, and says so", async () => {
    await writeSample();
    await appendFile(path, `${(await lines())[0]?.replace("run_start", "run_later")}\n`);
    expect((await readTrajectory(path)).problem?.line).toBe(sampleTrajectory().length + 1);
  });
});
