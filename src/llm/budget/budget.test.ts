import { describe, expect, test } from "vitest";
import { Budget } from "./budget.ts";

const call = (tokens = 0, usd = 0) => ({ calls: 1, tokens, usd });
const never = new AbortController().signal;
const exhausted = (part: string) =>
  expect.objectContaining({ code: "budget_exhausted", message: expect.stringContaining(part) });

describe("budget", () => {
  test("a hold counts against the cap until it is settled with less", () => {
    const budget = new Budget({ caps: { tokens: 100 } });
    const hold = budget.reserve(call(80));
    expect(() => budget.reserve(call(30))).toThrow(exhausted("80 tokens held by calls in flight"));
    hold.settle(call(50));
    expect(budget.snapshot()).toEqual({
      spent: { calls: 1, tokens: 50, usd: 0 },
      held: { calls: 0, tokens: 0, usd: 0 },
      caps: { tokens: 100 },
      left: { tokens: 50 },
    });
    budget.reserve(call(50));
  });

  test("the error of an exhausted budget names the cap, what is spent and held, and what to do", () => {
    const budget = new Budget({ caps: { usd: 0.07 } });
    budget.reserve(call(0, 0.05)).settle(call(0, 0.05));
    budget.reserve(call(0, 0.01));
    expect(() => budget.reserve(call(0, 0.02))).toThrow(
      expect.objectContaining({
        message:
          "the budget does not allow this call: it needs up to $0.02, and of the cap of $0.07, $0.05 spent, $0.01 held by calls in flight",
        hint: expect.stringContaining("raise the money cap"),
        details: { kind: "usd", cap: 0.07, spent: 0.05, held: 0.01 },
      }),
    );
  });

  test("many small costs fill a money cap exactly, without rounding errors", () => {
    const budget = new Budget({ caps: { usd: 0.7 } });
    for (let n = 0; n < 10; n++) budget.reserve(call(0, 0.07)).settle(call(0, 0.07));
    expect(budget.snapshot().left).toEqual({ usd: 0 });
    expect(() => budget.reserve(call(0, 1e-9))).toThrow(exhausted("$0.7"));
  });

  test("releasing a hold gives everything back, and a hold ends only once", () => {
    const budget = new Budget({ caps: { calls: 1 } });
    const hold = budget.reserve(call());
    hold.release();
    hold.release();
    hold.settle(call());
    expect(budget.snapshot().spent.calls).toBe(0);
    expect(budget.snapshot().left.calls).toBe(1);
  });

  test("a batch is reserved completely or not at all", () => {
    const budget = new Budget({ caps: { calls: 3 } });
    expect(() => budget.reserveAll([call(), call(), call(), call()])).toThrow(exhausted("4 calls"));
    expect(budget.snapshot().held.calls).toBe(0);
    expect(budget.reserveAll([call(), call(), call()])).toHaveLength(3);
  });

  test("a child is narrower than its parent, and charges it", () => {
    const root = new Budget({ caps: { tokens: 100 } });
    const child = root.child({ caps: { tokens: 60 } });
    const wide = child.child({ caps: { tokens: 1000 } });
    expect(() => child.reserve(call(61))).toThrow(exhausted("the cap of 60 tokens"));
    expect(() => wide.reserve(call(61))).toThrow(exhausted("the cap of a parent of 60 tokens"));
    wide.reserve(call(60)).settle(call(55));
    expect(root.snapshot().spent.tokens).toBe(55);
    expect(wide.snapshot().left).toEqual({ tokens: 5 });
    expect(() => root.reserve(call(46))).toThrow(exhausted("55 tokens spent"));
  });

  test("the final reserve is kept for final calls, of this budget and not of a child", () => {
    const root = new Budget({ caps: { calls: 3 }, finalReserve: { calls: 2 } });
    const child = root.child({ caps: {} });
    root.reserve(call()).settle(call());
    expect(() => root.reserve(call())).toThrow(exhausted("2 calls kept for the last turn"));
    expect(() => child.reserve(call(), { isFinal: true })).toThrow(exhausted("kept for the last turn"));
    expect(root.snapshot().left).toEqual({ calls: 0 });
    root.reserve(call(), { isFinal: true }).settle(call());
    expect(() => root.reserve(call())).toThrow(exhausted("1 call kept for the last turn"));
    root.reserve(call(), { isFinal: true });
    expect(() => root.reserve(call(), { isFinal: true })).toThrow(exhausted("3 calls"));
  });

  test("a final call that is released leaves its reserve intact", () => {
    const root = new Budget({ caps: { calls: 2 }, finalReserve: { calls: 1 } });
    root.reserve(call(), { isFinal: true }).release();
    root.reserve(call());
    expect(() => root.reserve(call())).toThrow(exhausted("kept for the last turn"));
  });

  test("a call that is charged more than its worst case closes the budget of the whole tree", () => {
    const root = new Budget({ caps: { tokens: 1000 } });
    const other = root.child({ caps: {} });
    root.child({ caps: {} }).reserve(call(10)).settle(call(11));
    expect(root.snapshot()).toMatchObject({
      spent: { tokens: 11 },
      overrun: { kind: "tokens", held: 10, charged: 11 },
    });
    expect(() => other.reserve(call(1))).toThrow(exhausted("charged 11 tokens, more than its worst case of 10"));
  });

  test("an overrun of something that has no cap is harmless", () => {
    const root = new Budget({ caps: { calls: 5 } });
    root.reserve(call(10)).settle(call(11));
    expect(root.snapshot().overrun).toBeUndefined();
    root.reserve(call(10));
  });

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("an amount of %s is refused", (tokens) => {
    const budget = new Budget({ caps: { tokens: 10 } });
    expect(() => budget.reserve(call(tokens))).toThrow(expect.objectContaining({ code: "usage" }));
    expect(() => new Budget({ caps: { tokens } })).toThrow(expect.objectContaining({ code: "usage" }));
  });
});

describe("waiting for a budget", () => {
  test("a call waits while its tokens are only held by others, and starts when one settles with less", async () => {
    const budget = new Budget({ caps: { tokens: 100 } });
    const first = budget.reserve(call(80));
    const second = budget.reserveWhenFree(call(60), { signal: never });
    first.settle(call(30));
    (await second).settle(call(60));
    expect(budget.snapshot().spent.tokens).toBe(90);
  });

  test("a call fails once the others settled and it still does not fit", async () => {
    const budget = new Budget({ caps: { tokens: 100 } });
    const first = budget.reserve(call(80));
    const second = budget.reserveWhenFree(call(60), { signal: never });
    first.settle(call(50));
    await expect(second).rejects.toThrow(exhausted("50 tokens spent"));
  });

  test("nobody waits for calls: a held call is as good as spent", async () => {
    const budget = new Budget({ caps: { calls: 1 } });
    budget.reserve(call());
    await expect(budget.reserveWhenFree(call(), { signal: never })).rejects.toThrow(exhausted("1 call held"));
  });

  test("an abort ends the wait and holds nothing", async () => {
    const budget = new Budget({ caps: { tokens: 100 } });
    const first = budget.reserve(call(80));
    const controller = new AbortController();
    const second = budget.reserveWhenFree(call(60), { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(second).rejects.toMatchObject({ code: "aborted" });
    first.release();
    expect(budget.snapshot().held.tokens).toBe(0);
  });
});
