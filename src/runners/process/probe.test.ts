import { expect, test } from "vitest";
import { probeBubblewrap } from "./probe.ts";

test("answers within two seconds: what works here, or a reason and a fix", async () => {
  const start = performance.now();
  const probe = await probeBubblewrap();
  expect(performance.now() - start).toBeLessThan(2000);
  if (probe.available) {
    expect(probe.version).toMatch(/^\d+\.\d+/);
    expect(probe.layouts.template || probe.layouts.direct).toBe(true);
  } else {
    expect(probe.reason).not.toBe("");
    expect(probe.hint).not.toBe("");
  }
});
