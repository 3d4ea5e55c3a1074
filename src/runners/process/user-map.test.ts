import { expect, test } from "vitest";
import { userMap } from "./user-map.ts";

test("the map of a template's namespace holds its own uid, nobody's and the range of its cells, and no other", () => {
  expect(userMap(70_001, 70_000, { first: 71_000, count: 3_000 })).toBe("0 70000 1\n1000 70001 1\n71000 71000 3000\n");
});
