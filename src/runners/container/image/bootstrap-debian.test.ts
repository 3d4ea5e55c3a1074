import { expect, test } from "vitest";
import { withUpdates } from "./bootstrap-debian.ts";

test("withUpdates adds the updates and security suites of the same mirror", () => {
  expect(withUpdates("deb http://packages.example/debian bookworm main\n").split("\n")).toEqual([
    "deb http://packages.example/debian bookworm main",
    "deb http://packages.example/debian bookworm-updates main",
    "deb http://packages.example/debian-security bookworm-security main",
    "",
  ]);
});

test("withUpdates does not change a list in an unknown format", () => {
  expect(withUpdates("# nothing here\n")).toBe("# nothing here\n");
});
