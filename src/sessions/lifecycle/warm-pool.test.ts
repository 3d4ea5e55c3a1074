import { setImmediate as immediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../../lib/log/logger.ts";
import { WarmPool } from "./warm-pool.ts";

class FakeItem implements AsyncDisposable {
  isGood = true;
  disposals = 0;
  async [Symbol.asyncDispose]() {
    this.disposals++;
  }
}

function poolOf(size: number, made: FakeItem[] = []) {
  const make = async () => {
    const item = new FakeItem();
    made.push(item);
    return item;
  };
  return { made, pool: new WarmPool({ size, make, isGood: (item: FakeItem) => item.isGood }) };
}

describe("a warm pool", () => {
  test("a warm pool hands out each item once and refills", async () => {
    const { pool, made } = poolOf(2);
    await pool.filled();
    const taken = [await pool.take(), await pool.take()];
    expect(new Set(taken).size).toBe(2);
    await pool.filled();
    expect(made).toHaveLength(4);
    expect(pool.statistics).toMatchObject({ ready: 2, hits: 2, misses: 0 });
    await pool[Symbol.asyncDispose]();
  });

  // Node counts immediates: one that is taken for a timer, or the other way round, stops those of the whole process.
  test("a warm pool that closes while a refill is due does not cancel other immediates of the process", async () => {
    for (const turns of [0, 1]) {
      const { pool, made } = poolOf(1);
      await pool.filled();
      await pool.take();
      for (let turn = 0; turn < turns; turn++) await immediate();
      await pool[Symbol.asyncDispose]();
      expect(made).toHaveLength(1);
    }
    expect(await immediate("ran")).toBe("ran"); // else it never comes, and the test runs out of time
  });

  test("an empty warm pool makes a fresh item and counts a miss", async () => {
    const { pool } = poolOf(0);
    await pool.take();
    expect(pool.statistics).toMatchObject({ hits: 0, misses: 1 });
  });

  test("a warm pool does not hand out an item that died while it waited", async () => {
    const { pool, made } = poolOf(1);
    await pool.filled();
    const [dead] = made;
    if (dead) dead.isGood = false;
    expect(await pool.take()).not.toBe(dead);
    expect(dead?.disposals).toBe(1);
    await pool[Symbol.asyncDispose]();
  });

  test("a dead warm cell that cannot be removed is logged and does not end the process", async () => {
    const warnings: unknown[] = [];
    const logger = { ...silentLogger, warn: (_: string, facts?: object) => void warnings.push(facts) };
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown) => void unhandled.push(error);
    const dead = { [Symbol.asyncDispose]: () => Promise.reject(new Error("device or resource busy")) };
    const pool = new WarmPool({ size: 1, make: async () => dead, isGood: () => false, logger });
    await pool.filled();
    process.on("unhandledRejection", onUnhandled);
    try {
      expect(pool.takeReady()).toBeUndefined();
      await immediate();
    } finally {
      process.off("unhandledRejection", onUnhandled);
      await pool[Symbol.asyncDispose]().catch(() => {});
    }
    expect(unhandled).toEqual([]);
    expect(warnings).toMatchObject([{ error: { message: "device or resource busy" } }]);
  });

  test("a warm pool disposes its remaining items when it closes", async () => {
    const { pool, made } = poolOf(3);
    await pool.filled();
    await pool[Symbol.asyncDispose]();
    expect(made.map((item) => item.disposals)).toEqual([1, 1, 1]);
    expect(pool.takeReady()).toBeUndefined();
  });

  test("a warm pool passes a failure to the caller and keeps working", async () => {
    let isBroken = true;
    const make = async () => {
      if (isBroken) throw new Error("no room");
      return new FakeItem();
    };
    const pool = new WarmPool({ size: 1, make, isGood: () => true });
    await pool.filled();
    await expect(pool.take()).rejects.toThrow("no room");
    isBroken = false;
    await expect(pool.take()).resolves.toBeInstanceOf(FakeItem);
    await pool[Symbol.asyncDispose]();
  });
});
