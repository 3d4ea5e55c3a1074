import { describe, expect, test } from "vitest";
import { unusedId } from "./child-identity.ts";

describe("unusedId", () => {
  test("takes a high id where all are mapped", () => {
    expect(unusedId("         0          0 4294967295\n")).toBeGreaterThanOrEqual(2_000_000_000);
  });

  test("takes one of the few ids that a container has", () => {
    const id = unusedId("0 100000 65536\n");
    expect(id).toBeGreaterThanOrEqual(60_000);
    expect(id).toBeLessThan(65_536);
  });

  test("finds none where only root is mapped", () => {
    expect(unusedId("0 1000 1\n")).toBeUndefined();
  });
});
