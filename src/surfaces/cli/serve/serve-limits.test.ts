import { expect, test } from "vitest";
import { defaultLimits } from "../../http/limits.ts";
import { limitOptions, limitsJson, parseLimits } from "./serve-limits.ts";

test("the limits of serve are the defaults, except those that flags set", () => {
  expect(parseLimits({})).toEqual(defaultLimits);
  expect(parseLimits({ "max-body": "1MiB", "request-timeout": "30s", "max-runs": "3" })).toEqual({
    ...defaultLimits,
    ...{ jsonBytes: 2 ** 20, requestMs: 30_000, runs: 3 },
  });
  expect(limitsJson(parseLimits({ "max-header": "8KiB" }))).toMatchObject({
    ...{ max_header_bytes: 8192, header_timeout_ms: 10_000, max_requests: 512 },
  });
});

test("serve rejects limits that are out of range or have no valid unit", () => {
  const wrong: [Parameters<typeof parseLimits>[0], RegExp][] = [
    [{ "max-body": "0B" }, /--max-body "0B" is not a size from 1KiB to 256MiB/],
    [{ "max-body": "16" }, /did you mean 16MiB/],
    [{ "max-connections": "0" }, /from 1 to 100000/],
    [{ "header-timeout": "48h" }, /is not a duration/],
    [{ "max-runs": "-1" }, /whole number/],
  ];
  for (const [flags, message] of wrong) {
    expect(attempt(() => parseLimits(flags))).toMatch(message);
  }
});

test("the help of serve shows the default of each limit", () => {
  expect(limitOptions["max-body"].help).toBe("Maximum size of a JSON body. Default: 16MiB.");
  expect(limitOptions["max-runs-per-token"]).toMatchObject({ value: "N", help: expect.stringContaining("16.") });
});

function attempt(work: () => unknown): string {
  try {
    return JSON.stringify(work());
  } catch (error) {
    const { message, hint } = error as { message: string; hint?: string };
    return `${message} ${hint ?? ""}`;
  }
}
