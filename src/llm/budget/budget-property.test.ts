import { expect, test } from "vitest";
import { FakeRandom } from "../../../test/fakes/fake-random.ts";
import { Budget, type Hold } from "./budget.ts";

const kinds = ["calls", "tokens", "usd"] as const;
const controller = new AbortController();

/** A tree of budgets with random caps and reserves, up to three levels deep. */
function randomTree(random: FakeRandom): Budget[] {
  const caps = () => ({
    ...(random.below(4) > 0 && { calls: 1 + random.below(30) }),
    ...(random.below(4) > 0 && { tokens: 1 + random.below(5_000) }),
    ...(random.below(4) > 0 && { usd: random.below(1_000_000) / 1e7 }),
  });
  const finalReserve = () => ({ calls: random.below(3), tokens: random.below(300), usd: random.below(1000) / 1e6 });
  const all = [new Budget({ caps: caps(), finalReserve: finalReserve() })];
  for (let n = random.below(6); n > 0; n--) {
    const parent = all[random.below(all.length)];
    if (parent) all.push(parent.child({ caps: caps(), finalReserve: finalReserve() }));
  }
  return all;
}

/** Throws by itself: a million calls of `expect` take longer than the budgets. */
function assertNoCapExceeded(budgets: readonly Budget[], what: string): void {
  for (const [index, budget] of budgets.entries()) {
    const { spent, held, caps, left } = budget.snapshot();
    for (const kind of kinds) {
      const areAmounts = spent[kind] >= 0 && held[kind] >= 0 && (left[kind] ?? 0) >= 0;
      const isWithin = spent[kind] + held[kind] <= (caps[kind] ?? Number.POSITIVE_INFINITY) + 1e-12;
      if (areAmounts && isWithin) continue;
      const amounts = { spent: spent[kind], held: held[kind], cap: caps[kind], left: left[kind] };
      throw new Error(`${what}: ${kind} of budget ${index}: ${JSON.stringify(amounts)}`);
    }
  }
}

/** Plays random steps. Returns how many calls were held, so that a test can tell that something happened. */
async function play(seed: number): Promise<{ held: number; refused: number; waited: number }> {
  const random = new FakeRandom(seed);
  const budgets = randomTree(random);
  const open: Hold[] = [];
  const pending: Promise<unknown>[] = [];
  const counts = { held: 0, refused: 0, waited: 0 };
  const amount = () => ({ calls: 1, tokens: random.below(800), usd: random.below(100_000) / 1e8 });
  const keep = (holds: readonly Hold[]) => {
    open.push(...holds);
    counts.held += holds.length;
  };
  const refuse = () => {
    counts.refused++;
  };
  for (let step = 0; step < 60; step++) {
    const budget = budgets[random.below(budgets.length)] ?? budgets[0];
    const isFinal = random.below(4) === 0;
    const action = random.below(6);
    try {
      if (action === 0) keep([budget?.reserve(amount(), { isFinal })].flatMap((hold) => hold ?? []));
      if (action === 1) keep(budget?.reserveAll([amount(), amount(), amount()], { isFinal }) ?? []);
      if (action === 2 && budget) {
        counts.waited++;
        const waiting = budget.reserveWhenFree(amount(), { isFinal, signal: controller.signal });
        pending.push(waiting.then((hold) => keep([hold]), refuse));
      }
    } catch {
      refuse();
    }
    if (action > 2) {
      const [hold] = open.splice(random.below(open.length), 1);
      const share = random.below(101) / 100;
      const { tokens = 0, usd = 0 } = hold?.amount ?? {};
      if (action === 3) hold?.release();
      else hold?.settle({ calls: 1, tokens: Math.floor(tokens * share), usd: usd * share });
    }
    if (random.below(3) === 0) await Promise.resolve(); // lets those that wait go on, in the middle of everything
    assertNoCapExceeded(budgets, `seed ${seed}, step ${step}`);
  }
  // everything that waits ends: it is served or refused when the rest settles
  let isOver = false;
  const allEnded = Promise.all(pending).then(() => {
    isOver = true;
  });
  do {
    await new Promise((resolve) => setImmediate(resolve));
    for (const hold of open.splice(0)) hold.settle(hold.amount);
  } while (!isOver);
  await allEnded;
  assertNoCapExceeded(budgets, `seed ${seed}, at the end`);
  const spentByRoot = budgets[0]?.snapshot();
  for (const budget of budgets.slice(1)) {
    for (const kind of kinds)
      expect(budget.snapshot().spent[kind]).toBeLessThanOrEqual((spentByRoot?.spent[kind] ?? 0) + 1e-12);
  }
  return counts;
}

test("spent + held never exceeds a cap, in 400 random interleavings of reserve, batch, wait, settle and release in trees", async () => {
  const total = { held: 0, refused: 0, waited: 0 };
  for (let seed = 1; seed <= 400; seed++) {
    const { held, refused, waited } = await play(seed);
    total.held += held;
    total.refused += refused;
    total.waited += waited;
  }
  // the property is about something: calls were held, refused and kept waiting
  for (const count of Object.values(total)) expect(count).toBeGreaterThan(1000);
});
