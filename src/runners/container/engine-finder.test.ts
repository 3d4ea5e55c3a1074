import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Cleanup } from "../../lib/cleanup.ts";
import { addressFacts } from "./engine-address.ts";
import { EngineFinder } from "./engine-finder.ts";

test("an engine that is busy is passed over where another runner may be chosen, and waited for where none is", async () => {
  await using cleanup = new Cleanup();
  const finder = new EngineFinder(
    { engine: "docker", addresses: addressFacts(await slowEngine(2_000)) },
    false,
    cleanup,
  );
  expect(await finder.find()).toMatchObject({ available: false, reason: expect.stringContaining("did not answer") });
  expect(await finder.find({ isPatient: true })).toMatchObject({ available: true, engine: { version: "1.2.3" } });
  expect(await finder.need()).toMatchObject({ version: "1.2.3" });
});

/** Where an engine listens that takes so long for each answer. */
async function slowEngine(answersAfterMs: number): Promise<{ DOCKER_HOST: string }> {
  const server = createServer((_, response) => {
    setTimeout(() => response.end(JSON.stringify({ ServerVersion: "1.2.3" })), answersAfterMs);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { DOCKER_HOST: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
