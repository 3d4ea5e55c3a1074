import { expect, onTestFinished, test } from "vitest";
import { FakeRunner } from "../../test/fakes/fake-runner.ts";
import { silentAudit } from "../audit/audit.ts";
import { Codecell } from "./codecell.ts";
import type { Session } from "./session.ts";

async function open(options: object = {}) {
  const codecell = await Codecell.open({ runners: [new FakeRunner()], audit: silentAudit, ...options });
  onTestFinished(() => codecell.close());
  return codecell;
}

// biome-ignore lint/suspicious/noExplicitAny: what a caller in JavaScript may pass
const wrong: Record<string, (session: any) => Promise<unknown>> = {
  "checkpoint()": (session) => session.checkpoint(),
  "checkpoint(5)": (session) => session.checkpoint(5),
  "rollback({})": (session) => session.rollback({}),
  "forgetCheckpoint()": (session) => session.forgetCheckpoint(),
  "fork(5)": (session) => session.fork(5),
  "get()": (session) => session.get(),
  "getBytes(5)": (session) => session.getBytes(5),
  "preview(null)": (session) => session.preview(null),
  "complete()": (session) => session.complete(),
  "inspect([])": (session) => session.inspect([]),
  "set(5, 1)": (session) => session.set(5, 1),
  'load("a")': (session) => session.load("a"),
  'upload("a", 5)': (session) => session.upload("a", 5),
  "removeFile()": (session) => session.removeFile(),
  "run(5)": (session) => session.run(5),
  'run("1", null)': (session) => session.run("1", null),
};

test("a wrong type is refused with a code and a hint by every call of a session, and the session goes on", async () => {
  const session: Session = await (await open()).session();
  for (const [call, make] of Object.entries(wrong)) {
    const error = await make(session).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect([call, error]).toEqual([call, expect.objectContaining({ code: "usage", hint: expect.any(String) })]);
  }
  expect((await session.run("1")).status).toBe("ok");
});

test("an option of a run that does not exist is refused, with the one that was meant", async () => {
  const session = await (await open()).session();
  const misspelt = { timeOut: 100 } as object;
  await expect(session.run("1", misspelt)).rejects.toMatchObject({
    message: 'session.run has no option "timeOut"',
    hint: "did you mean timeout?",
  });
});

test.each([
  ["polcy", "did you mean policy?"],
  ["proc", "put it into the policy: { policy: { proc: … } }"],
  ["runner", "name it in the policy: { policy: { isolation: { runner: … } } }"],
  ["anything", "docs/library.md has every option"],
])("Codecell.open refuses the option %s and says where it belongs", async (name, hint) => {
  await expect(open({ [name]: {} })).rejects.toMatchObject({ code: "usage", hint });
});

test("a session's id that is not text is refused", async () => {
  const codecell = await open();
  await expect(codecell.session(5 as unknown as string)).rejects.toMatchObject({ code: "usage" });
});
