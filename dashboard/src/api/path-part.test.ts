import { expect, test } from "vitest";
import { pathPart } from "./path-part.ts";

test("any name becomes a part of a path", () => {
  expect(pathPart("a b/ü😀")).toBe("a%20b%2F%C3%BC%F0%9F%98%80");
  expect(pathPart("half\ud800")).toBe("half%EF%BF%BD");
});
