import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeRunner } from "../../../../test/fakes/fake-runner.ts";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { Codecell } from "../../codecell.ts";

let base: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "cc-lock-"));
  await chmod(base, 0o711);
});
afterEach(() => rm(base, { recursive: true, force: true }));

function open(runner: FakeRunner): Promise<Codecell> {
  const policy = parsePolicy({ session: { persist: true } });
  const places = { stateDir: join(base, "state"), runtimeDir: join(base, "run") };
  return Codecell.open({ policy, runners: [runner], ...places });
}

test("a session that another codecell has open is refused before a cell starts", async () => {
  const runner = new FakeRunner();
  await using first = await open(new FakeRunner());
  await using second = await open(runner);
  await first.session("work");
  await expect(second.session("work")).rejects.toMatchObject({ code: "session_busy" });
  expect(runner.started).toEqual([]);
});

test("a session has everything that another codecell did with it before closing it", async () => {
  await using second = await open(new FakeRunner());
  const first = await open(new FakeRunner());
  const session = await first.session("work");
  await session.run("x");
  await first[Symbol.asyncDispose]();
  const again = await second.session("work");
  expect(again.record).toMatchObject({ runs: 1, workspace: session.record.workspace });
});

test("the lock and the cell are released if a session cannot be opened", async () => {
  const runner = new FakeRunner();
  runner.start = () => Promise.reject(new Error("no cell today"));
  await using first = await open(runner);
  await expect(first.session("work")).rejects.toThrow("no cell today");
  await using second = await open(new FakeRunner());
  expect((await second.session("work")).id).toBe("work");
});
