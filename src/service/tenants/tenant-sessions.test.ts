import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { Codecell } from "../../sessions/codecell.ts";
import { newNamespace, sessionKey, shownId } from "../../sessions/session-id.ts";
import { TenantSessions } from "./tenant-sessions.ts";

let stateDir: string;
let manager: Codecell;
let alice: TenantSessions;
let bob: TenantSessions;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "cc-tenants-"));
  const policy = parsePolicy({});
  manager = await Codecell.open({
    policy,
    runners: [new FakeRunner()],
    stateDir,
    runtimeDir: join(stateDir, "rt"),
  });
  alice = new TenantSessions(manager, "ns-aaaaaaaaaaaa", 3);
  bob = new TenantSessions(manager, "ns-bbbbbbbbbbbb", 3);
});
afterEach(async () => {
  await manager[Symbol.asyncDispose]();
  await rm(stateDir, { recursive: true });
});

const failure = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    ({ code, message, hint }) => ({ code, message, hint }),
  );

describe("the sessions of a tenant", () => {
  test("are separate from another tenant's session with the same id", async () => {
    const [one, two] = [await alice.session("work"), await bob.session("work")];
    expect(one).not.toBe(two);
    expect([one.id, two.id]).toEqual(["work", "work"]);
    expect(await alice.get("work")).toBe(one);
    await bob.closeSession("work");
    expect(await alice.get("work")).toBe(one);
    expect(await alice.list()).toMatchObject([{ id: "work" }]);
    expect(await bob.list()).toEqual([]);
  });

  test("look nonexistent to other tenants", async () => {
    await alice.session("secret");
    for (const ask of [
      (id: string) => bob.get(id),
      (id: string) => bob.info(id),
      (id: string) => bob.closeSession(id),
      (id: string) => bob.fork(id),
    ]) {
      const text = async (id: string) => JSON.stringify(await failure(ask(id))).replaceAll(id, "ID");
      expect(await text("secret")).toBe(await text("nothere"));
      expect(await text("secret")).toContain("session_unknown");
      expect(await text("ns-aaaaaaaaaaaa.secret")).toContain("session_unknown");
    }
  });

  test("are listed without their namespace", async () => {
    const messages = [await failure(alice.get("x")), await failure(alice.closeSession("x"))];
    await alice.session("one");
    messages.push(await failure(alice.fork("one", "one")));
    expect(JSON.stringify(messages)).not.toContain("ns-aaaaaaaaaaaa");
    expect(JSON.stringify(messages)).toContain("session one already exists");
  });

  test("never exceed the quota, even when they are created concurrently", async () => {
    const asked = await Promise.allSettled(Array.from({ length: 12 }, (_, at) => alice.session(`s${at}`)));
    expect(asked.filter(({ status }) => status === "fulfilled").length).toBe(3);
    expect(await failure(alice.session())).toMatchObject({ code: "session_limit" });
    expect((await bob.session("mine")).id).toBe("mine");
    const [{ id } = { id: "" }] = await alice.list();
    expect((await alice.session(id)).id).toBe(id);
    await alice.closeSession(id);
    expect((await alice.session("next")).id).toBe("next");
  });

  test("have ids short enough for a directory name that includes the prefix", async () => {
    expect((await alice.session("x".repeat(48))).id.length).toBe(48);
    await expect(alice.session("x".repeat(49))).rejects.toThrow(/48 characters/);
    await expect(alice.session("../x")).rejects.toThrow(/invalid session id/);
  });
});

test("all namespaces have the same length, so none is a prefix of another", () => {
  const namespace = newNamespace();
  expect(shownId(sessionKey(namespace, "ns-aaaaaaaaaaaa.x"))).toBe("ns-aaaaaaaaaaaa.x");
  expect(shownId("work")).toBe("work");
  expect(shownId("ns-aaaaaaaaaaaa.")).toBe("ns-aaaaaaaaaaaa.");
  for (const wrong of ["", "ns-", "ns-aaaaaaaaaaaa.b", "xx-aaaaaaaaaaaa"]) {
    expect(() => sessionKey(wrong, "x"), wrong).toThrow();
  }
});
