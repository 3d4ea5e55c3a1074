import { expect, test } from "vitest";
import { FakeRandom } from "../../test/fakes/fake-random.ts";
import { FirstPaths } from "./first-paths.ts";

test.each([1, 7, 1_000, 20_000])("FirstPaths has the first %i of many paths, in order", (count) => {
  const random = new FakeRandom(3);
  const paths = Array.from({ length: 10_000 }, (_, at) => `${random.below(1_000)}/${at}é`);
  const first = new FirstPaths(count);
  for (const path of paths) first.add(path);
  expect(first.sorted()).toEqual([...paths].sort().slice(0, count));
});
