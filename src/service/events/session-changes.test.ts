import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { SessionChanges } from "./session-changes.ts";

test("sessions that change while others are described wait, and are described one at a time", async () => {
  const [described, published]: [string[], string[]] = [[], []];
  let [atOnce, most] = [0, 0];
  let proceed = () => {};
  const blocked = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  const changes = new SessionChanges({
    everyMs: 1,
    async describe(key) {
      described.push(key);
      most = Math.max(most, ++atOnce);
      await blocked;
      atOnce--;
      return { isBusy: false, fields: {} };
    },
    publish: (key) => published.push(key),
  });
  using _reading = changes.start();
  changes.changed("first");
  await expect.poll(() => described).toEqual(["first"]);
  for (let round = 0; round < 5; round++) {
    for (const key of ["a", "b", "c"]) changes.changed(key);
    await wait(5); // longer than the time between two flushes
  }
  proceed();
  await expect.poll(() => published).toEqual(["first", "a", "b", "c"]);
  expect([most, described]).toEqual([1, ["first", "a", "b", "c"]]);
});
