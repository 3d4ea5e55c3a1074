import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Cleanup } from "../../../lib/cleanup.ts";
import { addressFacts } from "./engine-address.ts";
import { EngineFinder } from "./engine-finder.ts";
import { removeDeadSockets } from "./podman-service.ts";
import { SilentEngines } from "./silent-engines.ts";

// the two wait for seconds, so they wait together
test.concurrent("a slow engine is skipped if another runner can be chosen, and awaited if none can", async ({
  expect,
  onTestFinished,
}) => {
  await using cleanup = new Cleanup();
  const finder = new EngineFinder(
    { engine: "docker", addresses: addressFacts(await slowEngine(2_000, onTestFinished)) },
    false,
    cleanup,
  );
  expect(await finder.find()).toMatchObject({ available: false, reason: expect.stringContaining("did not answer") });
  expect(await finder.find({ isPatient: true })).toMatchObject({ available: true, engine: { version: "1.2.3" } });
  expect(await finder.need()).toMatchObject({ version: "1.2.3" });
});

test.concurrent("an engine that timed out for one runner is skipped by the next, unless no other runner can be chosen", async ({
  expect,
  onTestFinished,
}) => {
  await using cleanup = new Cleanup();
  const requests: string[] = [];
  const addresses = addressFacts(await slowEngine(2_000, onTestFinished, requests));
  const silent = new SilentEngines();
  const finders = [1, 2, 3].map(() => new EngineFinder({ engine: "docker", addresses, silent }, false, cleanup));
  for (const finder of finders)
    expect(await finder.find()).toMatchObject({ available: false, reason: expect.stringContaining("did not answer") });
  expect(requests).toHaveLength(1);
  expect(await finders[2]?.find({ isPatient: true })).toMatchObject({ available: true });
});

test("dead sockets of Podman's API are removed, and other files are kept", async () => {
  const directory = await mkdtemp(join(tmpdir(), "cc-podman-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const [served, dead, fresh] = ["a", "b", "c"].map((letter) => `podman-${letter.repeat(12)}.sock`) as [
    string,
    string,
    string,
  ];
  const server = createServer().listen(join(directory, served));
  onTestFinished(() => void server.close());
  for (const name of [dead, fresh, "podman-mine.sock"]) await writeFile(join(directory, name), "");
  const longAgo = new Date(Date.now() - 3_600_000);
  for (const name of [served, dead, "podman-mine.sock"]) await utimes(join(directory, name), longAgo, longAgo);
  await removeDeadSockets(directory);
  expect((await readdir(directory)).sort()).toEqual([served, fresh, "podman-mine.sock"]);
});

/** Starts a fake engine that delays each answer. */
async function slowEngine(
  answersAfterMs: number,
  onFinished: typeof onTestFinished,
  requests: string[] = [],
): Promise<{ DOCKER_HOST: string }> {
  const server = createServer(({ url = "" }, response) => {
    requests.push(url);
    setTimeout(() => response.end(JSON.stringify({ ServerVersion: "1.2.3" })), answersAfterMs);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onFinished(() => void server.close());
  return { DOCKER_HOST: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
