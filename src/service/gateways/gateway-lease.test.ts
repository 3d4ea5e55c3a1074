import { describe, expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../../test/fakes/fake-clock.ts";
import { MemoryDirectory } from "../../../test/fakes/memory-directory.ts";
import { GatewayLease } from "./gateway-lease.ts";

const leaseMs = 15_000;

async function joined(directory = new MemoryDirectory()) {
  const clock = new FakeClock();
  const rejoined: string[][] = [];
  const onRejoined = async (kept: ReadonlySet<string>) => void rejoined.push([...kept]);
  const told: unknown[] = [];
  const onHeldAgain = (message: string, facts: object) => void told.push([message, facts]);
  const lease = new GatewayLease({ directory, clock, leaseMs, onRejoined, onHeldAgain });
  onTestFinished(() => lease[Symbol.asyncDispose]());
  await lease.join("http://127.0.0.1:1");
  /** Both clocks go on, and what became due is answered. */
  const pass = async (ms: number) => {
    directory.nowMs += ms;
    clock.pass(ms);
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };
  return { lease, directory, clock, pass, rejoined, told };
}

describe("the lease of a gateway", () => {
  test("it is renewed at a third of its time, and held as long as the directory answers", async () => {
    const { lease, directory, pass } = await joined();
    for (let third = 0; third < 12; third++) await pass(leaseMs / 3);
    expect(lease.isHeld).toBe(true);
    expect(directory.leases.get(lease.id)?.untilMs).toBe(directory.nowMs + leaseMs);
  });

  test("it ends on this side no later than in the directory, when renewals fail", async () => {
    const { lease, directory, pass } = await joined();
    const { lost } = lease;
    directory.failure = new Error("the database is gone");
    await pass(leaseMs - 1);
    expect([lease.isHeld, lost.aborted]).toEqual([true, false]);
    await pass(1);
    expect([lease.isHeld, lost.aborted]).toEqual([false, true]);
    expect(() => lease.assertHeld()).toThrow("this gateway lost its lease: it could not be renewed in time");
  });

  test("a process that was stopped knows at once that its lease is over, although no timer has fired", async () => {
    const { lease, directory } = await joined();
    const clock = new FakeClock();
    const stopped = new GatewayLease({ directory, leaseMs, clock, onRejoined: async () => {} });
    await stopped.join("http://127.0.0.1:2");
    const { lost } = stopped;
    Object.assign(clock, { after: () => () => {}, now: () => leaseMs });
    expect([stopped.isHeld, lost.aborted, lease.isHeld]).toEqual([false, true, true]);
  });

  test("it cannot be extended after its end: the gateway rejoins and learns which sessions nobody took", async () => {
    const { lease, directory, pass, rejoined, told } = await joined();
    directory.owners.set("kept", { owner: lease.id, isSaved: true });
    directory.owners.set("taken", { owner: lease.id, isSaved: true });
    directory.failure = new Error("the database is gone");
    await pass(leaseMs);
    directory.failure = undefined;
    directory.owners.set("taken", { owner: "g-other", isSaved: true });
    await pass(leaseMs / 3);
    expect(rejoined).toEqual([["kept"]]);
    const facts = { gateway: lease.id, sessions: 1 };
    expect(told).toEqual([["this gateway holds a lease again and serves its sessions", facts]]);
    expect([lease.isHeld, lease.lost.aborted]).toEqual([true, false]);
  });

  test("an answer that comes after the end does not bring the lease back", async () => {
    const { lease, directory, clock } = await joined();
    let answer = () => {};
    const renew = directory.renew.bind(directory);
    directory.renew = async (...args) => {
      const grant = await renew(...args);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return grant;
    };
    const { lost } = lease;
    clock.pass(leaseMs / 3);
    await Promise.resolve();
    clock.pass(leaseMs);
    answer();
    await Promise.resolve();
    expect(lost.aborted).toBe(true);
  });

  test("the time of the directory counts, whatever this machine's clock says", async () => {
    const { lease, directory, pass } = await joined();
    await pass(1_000);
    expect(lease.nowMs).toBe(directory.nowMs);
  });

  test("leaving ends it in the directory, so that nobody waits", async () => {
    const { lease, directory } = await joined();
    await lease[Symbol.asyncDispose]();
    expect(directory.leases.size).toBe(0);
    expect(lease.problem).toBe("this gateway is stopping");
  });
});
