import { availableParallelism, totalmem } from "node:os";
import { describe, expect, test } from "vitest";
import { usageOf } from "./run-ending.ts";

const egress = { allowed: [], denied: [], more: 0, sentBytes: 7, receivedBytes: 11 };

describe("the usage of a run", () => {
  test("the usage of a run is what the cell and the proxy counted", () => {
    expect(usageOf({ cpuUs: 1_500, peakBytes: 4_096 }, 20, egress)).toEqual({
      ...{ cpuMs: 1.5, peakMemoryBytes: 4_096, wallMs: 20, sentBytes: 7, receivedBytes: 11 },
    });
  });

  test("the usage of a run omits what the cell did not report, and counts no bytes without a network", () => {
    expect(usageOf({}, 20, undefined)).toEqual({
      ...{ cpuMs: undefined, peakMemoryBytes: undefined, wallMs: 20, sentBytes: 0, receivedBytes: 0 },
    });
  });

  test("the usage of a run is limited to what this machine has, whatever the cell claims", () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect(usageOf({ cpuUs: most, peakBytes: most }, 20, undefined)).toMatchObject({
      cpuMs: 20 * availableParallelism(),
      peakMemoryBytes: totalmem(),
    });
  });
});
