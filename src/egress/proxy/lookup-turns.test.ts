import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { LookupTurns, lookupThreads } from "./lookup-turns.ts";
import type { Resolved } from "./resolver.ts";

/** A name server that answers when the test says so. */
function slowServer() {
  const asked: string[] = [];
  const answers = new Map<string, (found: readonly Resolved[]) => void>();
  const resolve = (host: string) => {
    asked.push(host);
    return new Promise<readonly Resolved[]>((settle) => answers.set(host, settle));
  };
  return { asked, resolve, answer: (host: string) => answers.get(host)?.([{ address: "192.0.2.1", isFixed: false }]) };
}

const forEver = new AbortController().signal;

test("a session looks up at most four names at once, and the fifth when one is answered", async () => {
  const server = slowServer();
  const turns = new LookupTurns(server.resolve);
  const found = ["a", "b", "c", "d", "e", "f"].map((host) => turns.resolve(host, forEver));
  await nextTurn();
  expect(server.asked).toEqual(["a", "b", "c", "d"]);
  server.answer("b");
  await found[1];
  await nextTurn();
  expect(server.asked).toEqual(["a", "b", "c", "d", "e"]);
  server.answer("e");
  expect(await found[4]).toEqual([{ address: "192.0.2.1", isFixed: false }]);
  await nextTurn();
  expect(server.asked).toContain("f");
});

test("a lookup that is aborted in the queue never starts and blocks no other", async () => {
  const server = slowServer();
  const turns = new LookupTurns(server.resolve);
  const held = ["a", "b", "c", "d"].map((host) => turns.resolve(host, forEver));
  const gone = new AbortController();
  const late = turns.resolve("late", gone.signal);
  const next = turns.resolve("next", forEver);
  gone.abort(new Error("timed out"));
  await expect(late).rejects.toThrow("timed out");
  await nextTurn();
  server.answer("a");
  await held[0];
  await nextTurn();
  server.answer("next");
  await next;
  expect(server.asked).toEqual(["a", "b", "c", "d", "next"]);
});

test("a lookup that fails frees its slot", async () => {
  const failing = new LookupTurns(() => Promise.reject(new Error("no such name")));
  for (let round = 0; round < 20; round++) {
    await expect(failing.resolve("nowhere", forEver)).rejects.toThrow("no such name");
  }
});

test("sessions that wait for name servers leave threads for all sessions that the default policy allows", async () => {
  const server = slowServer();
  const everySession = Array.from({ length: parsePolicy({}).session.limit }, () => new LookupTurns(server.resolve));
  for (const turns of everySession) for (let at = 0; at < 10; at++) void turns.resolve("name", forEver);
  await nextTurn();
  expect(server.asked.length).toBeLessThanOrEqual(lookupThreads / 2); // libuv gives lookups half of its threads
});
