import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { localKey, localSessionOf } from "./local-links.ts";
import { findService, publishService } from "./published-service.ts";

let top: string;
beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), "cc-note-"));
});
afterEach(() => rm(top, { recursive: true, force: true }));

const place = () => ({ stateDir: join(top, "state"), runtimeDir: join(top, "rt") });
const notes = () => readdir(join(top, "state", "services"));

test("findService returns the running service that started last", async () => {
  expect(await findService(place().stateDir)).toBeUndefined();
  await using first = await publishService({ ...place(), url: "http://127.0.0.1:1" });
  expect(await findService(place().stateDir)).toBe("http://127.0.0.1:1");
  const second = await publishService({ ...place(), url: "http://127.0.0.1:2", now: () => Date.now() + 1 });
  expect(await findService(place().stateDir)).toBe("http://127.0.0.1:2");
  await second[Symbol.asyncDispose]();
  expect(await findService(place().stateDir)).toBe("http://127.0.0.1:1");
  await first[Symbol.asyncDispose]();
  expect(await findService(place().stateDir)).toBeUndefined();
  expect(await notes()).toEqual([]);
});

test("the published note of a killed service is ignored, and the next start removes it", async () => {
  await using _living = await publishService({ ...place(), url: "http://127.0.0.1:1" });
  const dead = { version: 1, url: "http://127.0.0.1:9", lock: join(top, "rt", "nobody"), startedMs: Date.now() + 1e6 };
  const path = join(top, "state", "services", "0123456789ab.json");
  await writeFile(path, JSON.stringify(dead), { mode: 0o600 });
  expect(await findService(place().stateDir)).toBe("http://127.0.0.1:1");
  await using _next = await publishService({ ...place(), url: "http://127.0.0.1:2" });
  expect(await notes()).not.toContain("0123456789ab.json");
});

test("a published note that others can write, or that is damaged, is ignored", async () => {
  await using _living = await publishService({ ...place(), url: "http://127.0.0.1:1" });
  const [name = ""] = await notes();
  const path = join(top, "state", "services", name);
  await chmod(path, 0o666);
  expect(await findService(place().stateDir)).toBeUndefined();
  await chmod(path, 0o600);
  expect(await findService(place().stateDir)).toBe("http://127.0.0.1:1");
  await writeFile(path, '{"version":2}');
  expect(await findService(place().stateDir)).toBeUndefined();
});

test("the key of a local session in a link never equals a tenant's, and rejects paths", () => {
  const session = { id: "work", workspace: "m0123-1" };
  expect(localSessionOf(localKey(session))).toEqual(session);
  expect(localSessionOf("ns-0123456789ab.work")).toBeUndefined();
  expect(() => localSessionOf("../x@m0123-1")).toThrow(/invalid session id/);
});
