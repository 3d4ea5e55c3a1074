import { expect, test } from "vitest";
import { FakeRandom } from "../../../../test/fakes/fake-random.ts";
import { chooseRange } from "./byte-range.ts";

const whole = { kind: "whole" };
const part = (start: number, end: number) => ({ kind: "part", start, end });

test.each<[string | undefined, number, object]>([
  [undefined, 10, whole],
  ["bytes=0-0", 10, part(0, 1)],
  ["bytes=2-5", 10, part(2, 6)],
  ["bytes=5-", 10, part(5, 10)],
  ["bytes=-3", 10, part(7, 10)],
  ["bytes=-30", 10, part(0, 10)],
  ["bytes=2-99", 10, part(2, 10)],
  ["bytes=10-", 10, { kind: "unsatisfiable" }],
  ["bytes=-0", 10, { kind: "unsatisfiable" }],
  ["bytes=0-", 0, { kind: "unsatisfiable" }],
  ["bytes=5-2", 10, whole],
  ["bytes=-", 10, whole],
  ["bytes=0-1,3-4", 10, whole],
  ["lines=0-1", 10, whole],
  ["bytes=-99999999999999999999", 10, whole],
])("chooseRange resolves %s of a file of %i bytes", (header, size, expected) => {
  expect(chooseRange(header, size)).toEqual(expected);
});

test("chooseRange never returns a range outside the file", () => {
  const random = new FakeRandom(1);
  for (let round = 0; round < 2_000; round++) {
    const number = () => (random.below(5) === 0 ? "" : String(random.below(30)));
    const size = random.below(20);
    const range = chooseRange(`bytes=${number()}-${number()}`, size);
    if (range.kind !== "part") continue;
    expect(range.start).toBeGreaterThanOrEqual(0);
    expect(range.end).toBeGreaterThan(range.start);
    expect(range.end).toBeLessThanOrEqual(size);
  }
});
