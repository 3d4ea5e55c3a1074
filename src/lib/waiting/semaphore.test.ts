import { describe, expect, test } from "vitest";
import { Semaphore } from "./semaphore.ts";

describe("Semaphore", () => {
  test("gives out as many permits as its limit, then serves waiters in order", async () => {
    const semaphore = new Semaphore(2);
    const served: string[] = [];
    const acquire = async (name: string) => {
      const release = await semaphore.acquire();
      served.push(name);
      return release;
    };
    const [a, b, c, d] = [acquire("a"), acquire("b"), acquire("c"), acquire("d")];
    const [releaseA] = await Promise.all([a, b]);
    expect(served).toEqual(["a", "b"]);
    expect(semaphore).toMatchObject({ isFull: true, waiting: 2 });
    releaseA?.();
    const releaseC = await c;
    expect(served).toEqual(["a", "b", "c"]);
    releaseC();
    await d;
    expect(served).toEqual(["a", "b", "c", "d"]);
  });

  test("a new caller does not overtake waiters", async () => {
    const semaphore = new Semaphore(1);
    const release = await semaphore.acquire();
    const first = semaphore.acquire();
    release();
    expect(semaphore.tryAcquire()).toBeUndefined();
    (await first)();
    expect(semaphore.tryAcquire()).toBeDefined();
  });

  test("releasing twice gives back one permit", async () => {
    const semaphore = new Semaphore(2);
    const release = await semaphore.acquire();
    await semaphore.acquire();
    release();
    release();
    release[Symbol.dispose]();
    expect(semaphore.tryAcquire()).toBeDefined();
    expect(semaphore.tryAcquire()).toBeUndefined();
  });

  test("a task that fails releases its permit", async () => {
    const semaphore = new Semaphore(1);
    const failing = async () => {
      throw new Error("no");
    };
    for (let round = 0; round < 3; round++) await expect(semaphore.run(failing)).rejects.toThrow("no");
    expect(await semaphore.run(() => "next")).toBe("next");
    expect(semaphore.isFull).toBe(false);
  });

  test("a waiter that is aborted rejects at once, and the next one is served", async () => {
    const semaphore = new Semaphore(1);
    const release = await semaphore.acquire();
    const leaving = new AbortController();
    const left = semaphore.acquire(leaving.signal);
    const next = semaphore.acquire();
    leaving.abort(new Error("too slow"));
    await expect(left).rejects.toMatchObject({ code: "aborted", message: "aborted while waiting: too slow" });
    release();
    (await next)();
    expect(semaphore).toMatchObject({ isFull: false, waiting: 0 });
  });

  test("a caller whose signal is already aborted takes no permit", async () => {
    const semaphore = new Semaphore(1);
    await expect(semaphore.acquire(AbortSignal.abort())).rejects.toMatchObject({ code: "aborted" });
    expect(semaphore.isFull).toBe(false);
  });

  test("a signal that is aborted after the permit was given does not take it back", async () => {
    const semaphore = new Semaphore(1);
    const release = await semaphore.acquire();
    const late = new AbortController();
    const next = semaphore.acquire(late.signal);
    release();
    late.abort();
    await next;
    expect(semaphore.isFull).toBe(true);
  });

  test("permits in use elsewhere count, and a recheck serves waiters when they drop", async () => {
    let inUse = 2;
    const semaphore = new Semaphore(2, () => inUse);
    const first = semaphore.acquire();
    const second = semaphore.acquire();
    inUse = 1;
    semaphore.recheck();
    await first;
    expect(semaphore).toMatchObject({ isFull: true, waiting: 1 });
    inUse = 0;
    semaphore.recheck();
    await second;
    expect(semaphore.waiting).toBe(0);
  });

  test("a new caller does not overtake waiters when a permit in use elsewhere was just released", async () => {
    let inUse = 1;
    const semaphore = new Semaphore(1, () => inUse);
    const first = semaphore.acquire();
    inUse = 0;
    expect(semaphore.tryAcquire()).toBeUndefined();
    semaphore.recheck();
    await first;
  });
});
