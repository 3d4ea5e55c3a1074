import { setImmediate as settled } from "node:timers/promises";
import { expect, test } from "vitest";
import { FakeClock } from "../../../test/fakes/fake-clock.ts";
import type { UsageSample } from "../../sessions/lifecycle/usage-samples.ts";
import { type MeasuredSession, UsageSampler } from "./usage-sampler.ts";

class FakeMeasured implements MeasuredSession {
  readonly key: string;
  readonly usedMs = 0;
  isBusy = true;
  samples: UsageSample[] = [];
  readonly #now: () => number;

  constructor(key: string, now: () => number) {
    this.key = key;
    this.#now = now;
  }

  async measure(): Promise<UsageSample | undefined> {
    const sample = { atMs: this.#now(), cpuPercent: 1, memoryBytes: 2 };
    this.samples.push(sample);
    return sample;
  }
}

function setUp() {
  const clock = new FakeClock();
  const now = () => clock.now();
  const session = new FakeMeasured("a", now);
  return { clock, session, sampler: new UsageSampler({ sessions: () => [session], clock, now }) };
}

async function pass(clock: FakeClock, seconds: number): Promise<void> {
  await settled();
  for (let second = 0; second < seconds; second++) {
    clock.pass(1_000);
    await settled();
  }
}

test("nothing is measured until somebody looks, and for 30 seconds after that", async () => {
  const { clock, session, sampler } = setUp();
  await pass(clock, 10);
  expect(session.samples).toEqual([]);
  await sampler.look();
  expect(session.samples.length).toBe(1);
  await pass(clock, 60);
  expect(session.samples.length).toBe(15);
  expect(sampler.isSampling).toBe(false);
  await sampler.look();
  expect(session.samples.length).toBe(16);
});

test("a watcher gets every sample until it leaves", async () => {
  const { clock, session, sampler } = setUp();
  const heard: string[] = [];
  const listening = sampler.onSample(({ key }) => heard.push(key));
  const watching = sampler.watch();
  await pass(clock, 9);
  expect(heard).toEqual(["a", "a", "a", "a", "a"]);
  watching[Symbol.dispose]();
  watching[Symbol.dispose]();
  listening[Symbol.dispose]();
  await pass(clock, 60);
  expect([heard.length, session.samples.length]).toEqual([5, 5]);
});

test("an idle session is measured every 10 seconds, and at once after it was used", async () => {
  const { clock, session, sampler } = setUp();
  session.isBusy = false;
  using _watching = sampler.watch();
  await pass(clock, 30);
  expect(session.samples.length).toBe(4);
  session.isBusy = true;
  await pass(clock, 2);
  expect(session.samples.length).toBe(5);
});

test("a cell that cannot be measured does not end the others, and disposing ends everything", async () => {
  const { clock, session } = setUp();
  const broken = new FakeMeasured("b", () => 0);
  broken.measure = () => Promise.reject(new Error("no answer"));
  const sampler = new UsageSampler({ sessions: () => [broken, session], clock });
  sampler.watch();
  await pass(clock, 4);
  expect(session.samples.length).toBe(3);
  sampler[Symbol.dispose]();
  await pass(clock, 10);
  expect(session.samples.length).toBe(3);
});
