import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeRunner } from "../../test/fakes/fake-runner.ts";
import { silentAudit } from "../audit/audit.ts";
import { Codecell } from "./codecell.ts";
import type { Session } from "./session.ts";

let base: string;
const opened: Codecell[] = [];
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "cc-numbers-"));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((codecell) => codecell.close()));
  await rm(base, { recursive: true, force: true });
});

/** A program whose code is `hang` prints a line and runs until it is interrupted; one with `die` crashes its cell. */
async function open(name: string): Promise<{ codecell: Codecell; session: Session }> {
  const runner = new FakeRunner({
    program: async (run) => {
      if (run.code === "die") return { status: "crashed", state: "lost" };
      if (run.code === "hang") {
        run.print("stdout", "hanging");
        await run.interrupted;
      }
      return {};
    },
  });
  const codecell = await Codecell.open({
    ...{ policy: { session: { persist: true } }, stateDir: join(base, name), runtimeDir: join(base, `run-${name}`) },
    ...{ runners: [runner], audit: silentAudit },
  });
  opened.push(codecell);
  return { codecell, session: await codecell.session("work") };
}

/** What a kill of the process would leave on the disk while a run is running, under another name. */
async function killedInRun(session: Session, name: string, left: string): Promise<number> {
  const run = session.run("hang");
  for await (const _ of run) {
    await session.history();
    await cp(join(base, name), join(base, left), { recursive: true });
    run.interrupt();
  }
  return (await run).id;
}

test("the number of a run is not given again if the process is killed during the run, once or several times", async () => {
  const first = await open("a");
  expect((await first.session.run("x")).id).toBe(1);
  expect(await killedInRun(first.session, "a", "b")).toBe(2);
  const second = await open("b");
  expect(await killedInRun(second.session, "b", "c")).toBe(3);
  const third = await open("c");
  expect((await third.session.run("x")).id).toBe(4);
  expect((await third.session.history()).map(({ run }) => run)).toEqual([1, 4]);
});

test("the numbers of runs have no gap if a session is closed, also if its variables are lost", async () => {
  for (const [number, name] of [
    [1, "die"],
    [2, "x"],
    [3, "x"],
  ] as const) {
    const { codecell, session } = await open("a");
    expect((await session.run(name)).id).toBe(number);
    await codecell.close();
  }
});

test("the numbers of runs go on after the history if the record could not be written", async () => {
  const { codecell, session } = await open("a");
  const record = join(base, "a", "sessions", "work", "session.json");
  const old = await readFile(record);
  await session.run("x");
  await session.run("y");
  await codecell.close();
  await writeFile(record, old);
  await rm(join(base, "a", "sessions", "work", "unsaved"), { force: true });
  expect((await (await open("a")).session.run("z")).id).toBe(3);
});
