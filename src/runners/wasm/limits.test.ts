import { describe, expect, test } from "vitest";
import { cellLimits } from "./limits.ts";

const MiB = 2 ** 20;
const limits = (memoryBytes: number) => cellLimits({ memoryBytes, diskBytes: 64 * MiB, files: 100 });

describe("cellLimits", () => {
  test("converts memory to pages of 64 KiB, rounded down", () => {
    expect(limits(512 * MiB).memoryPages).toBe(8192);
    expect(limits(512 * MiB + 1).memoryPages).toBe(8192);
  });

  test("returns no more pages than 32 bits can address", () => {
    expect(limits(16 * 1024 * MiB).memoryPages).toBe(65_536);
  });

  test("leaves room for heap and files together in every limit", () => {
    const { growthBytes, dataBytes } = limits(512 * MiB);
    expect(growthBytes).toBeGreaterThan((512 + 64) * MiB);
    expect(dataBytes).toBeGreaterThan(growthBytes);
  });
});
