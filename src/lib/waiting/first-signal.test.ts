import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { firstSignal } from "./first-signal.ts";

test("firstSignal is aborted with the first of its sources, with the same reason", () => {
  const [one, two] = [new AbortController(), new AbortController()];
  using first = firstSignal(one.signal, undefined, two.signal);
  expect(first.signal.aborted).toBe(false);
  two.abort("two");
  one.abort("one");
  expect(first.signal.reason).toBe("two");
  using late = firstSignal(one.signal);
  expect(late.signal.reason).toBe("one");
});

test("firstSignal leaves no listeners on its sources", () => {
  const source = new AbortController().signal;
  const first = firstSignal(source);
  expect(getEventListeners(source, "abort")).toHaveLength(1);
  first[Symbol.dispose]();
  expect(getEventListeners(source, "abort")).toHaveLength(0);
});
