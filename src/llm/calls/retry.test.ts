import { describe, expect, test } from "vitest";
import { aborted } from "../../lib/waiting/aborted.ts";
import { failureError } from "../clients/failure.ts";
import { defaultRetryLimits, delay, type RetryTimer, systemTimer, withRetries } from "./retry.ts";

const overloaded = (retryAfterMs?: number) =>
  failureError("overloaded", {
    ...{ reason: "overloaded", isRetryable: true, mayBeCharged: false },
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
const rejected = failureError("rejected", { reason: "rejected", isRetryable: false, mayBeCharged: false });

/** Fails with these errors, then succeeds. */
async function attempts(errors: readonly Error[], random = 0.5, signal = new AbortController().signal) {
  const waits: number[] = [];
  const timer: RetryTimer = {
    random: () => random,
    sleep: async (ms, { aborted: isAborted }) => {
      if (isAborted) throw aborted(signal);
      waits.push(ms);
    },
  };
  let made = 0;
  const outcome = await withRetries(
    async (number) => {
      made++;
      const error = errors[number - 1];
      if (error) throw error;
      return "answer";
    },
    { signal, limits: defaultRetryLimits, timer, onRetry: () => {} },
  ).catch((error: unknown) => error);
  return { made, waits, outcome };
}

describe("retries", () => {
  test("waits a random part of a limit that doubles", async () => {
    const { waits, outcome } = await attempts([overloaded(), overloaded(), overloaded()]);
    expect(outcome).toBe("answer");
    expect(waits).toEqual([250, 500, 1000]);
    expect((await attempts([overloaded()], 0)).waits).toEqual([0]);
  });

  test("never waits longer than the longest wait by itself", () => {
    expect(delay(30, undefined, defaultRetryLimits, 1)).toBe(defaultRetryLimits.maxMs);
  });

  test("waits at least as long as the server asks, and a little longer by chance", async () => {
    expect((await attempts([overloaded(30_000)])).waits).toEqual([30_250]);
    expect((await attempts([overloaded(30_000)], 0)).waits).toEqual([30_000]);
  });

  test("gives up after the last retry, with the last error", async () => {
    const errors = [1, 2, 3, 4, 5, 6].map(() => overloaded());
    const { made, outcome } = await attempts(errors);
    expect(made).toBe(5);
    expect(outcome).toBe(errors[4]);
  });

  test("does not start a wait that exceeds the total time", async () => {
    expect(await attempts([overloaded(500_000)])).toMatchObject({ made: 1, waits: [] });
    expect(await attempts([overloaded(100_000), overloaded(100_000)])).toMatchObject({ made: 2, waits: [100_250] });
  });

  test.each([
    ["a rejection", rejected],
    ["a bug", new TypeError("x is not a function")],
  ])("does not repeat %s", async (_, error) => {
    expect(await attempts([error])).toEqual({ made: 1, waits: [], outcome: error });
  });

  test("an abort ends the wait of the real timer", async () => {
    const controller = new AbortController();
    const sleeping = systemTimer.sleep(1_000_000, controller.signal);
    controller.abort(new Error("enough"));
    await expect(sleeping).rejects.toMatchObject({ code: "aborted" });
    await expect(systemTimer.sleep(1, controller.signal)).rejects.toMatchObject({ code: "aborted" });
  });
});
