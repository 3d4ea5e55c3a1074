import { describe, expect, test } from "vitest";
import { unusedId } from "./child-identity.ts";

describe("unusedId", () => {
  test("returns a high id if all ids are mapped", () => {
    expect(unusedId("         0          0 4294967295\n")).toBeGreaterThanOrEqual(2_000_000_000);
  });

  test("returns one of the few ids of a container", () => {
    const id = unusedId("0 100000 65536\n");
    expect(id).toBeGreaterThanOrEqual(60_000);
    expect(id).toBeLessThan(65_536);
  });

  test("returns none if only root is mapped", () => {
    expect(unusedId("0 1000 1\n")).toBeUndefined();
  });
});
