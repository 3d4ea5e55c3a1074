import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { FakeRunner } from "../../test/fakes/fake-runner.ts";
import { type Logger, silentLogger } from "../lib/log/logger.ts";
import { announced } from "./announced-runner.ts";
import type { Probe } from "./runner.ts";

const available: Probe = { available: true, version: "1", guarantees: [] };

/** A runner whose probe does this, and the lines that were logged. */
async function probing(probe: (logger: Logger) => Promise<Probe>) {
  const lines: string[] = [];
  const logger = { ...silentLogger, info: (message: string) => void lines.push(message) };
  const create = (given: Logger) => {
    const runner = new FakeRunner();
    runner.probe = () => probe(given);
    return [runner];
  };
  const [runner] = await announced(create, logger, 20);
  return { runner, lines };
}

test("a slow probe is announced once, with the runner's name", async () => {
  const { runner, lines } = await probing(() => pause(200, available));
  expect(await runner?.probe()).toBe(available);
  await pause(50);
  expect(lines).toEqual([`checking whether the ${runner?.name} runner works …`]);
});

test("a quick probe is not announced, even if it fails", async () => {
  const { runner, lines } = await probing(async () => Promise.reject(new Error("broken")));
  await expect(runner?.probe()).rejects.toThrow("broken");
  await pause(50);
  expect(lines).toEqual([]);
});

test("a runner that says itself what it does is not announced as well", async () => {
  const { runner, lines } = await probing((logger) => {
    logger.info("preparing");
    return pause(200, available);
  });
  await runner?.probe();
  expect(lines).toEqual(["preparing"]);
});

test("the start of a slow cell is announced, and the runner is otherwise the same", async () => {
  const lines: string[] = [];
  const fake = new FakeRunner();
  fake.start = () => pause(200, undefined, {}).then(() => Promise.reject(new Error("no cell")));
  const logger = { ...silentLogger, info: (message: string) => void lines.push(message) };
  const [runner] = await announced(() => [fake], logger, 20);
  expect(runner).toMatchObject({ name: fake.name, isolation: fake.isolation, takesWorkspace: fake.takesWorkspace });
  await expect(runner?.start({} as never)).rejects.toThrow("no cell");
  expect(lines).toEqual([`starting a cell in the ${fake.name} runner …`]);
});

test("a runner that is announced has every member that it has by itself", async () => {
  class WholeRunner extends FakeRunner {
    readonly controlsMachine = true;
    readonly #kept = 3;
    keepWarm = async () => this.#kept;
    async python() {
      return { version: [3, this.#kept, 0], platform: "linux_x86_64" } as const;
    }
  }
  const [runner] = await announced(() => [new WholeRunner()], silentLogger);
  expect(runner?.controlsMachine).toBe(true);
  expect(await runner?.keepWarm?.({} as never)).toBe(3);
  expect(await runner?.python?.({} as never)).toMatchObject({ version: [3, 3, 0] });
  const [plain] = await announced(() => [new FakeRunner()], silentLogger);
  expect(plain?.keepWarm).toBeUndefined();
});
