import { expect, test } from "vitest";
import { withUpdates } from "./bootstrap-debian.ts";

test("adds updates and security of the mirror that a base was made from", () => {
  expect(withUpdates("deb http://packages.example/debian bookworm main\n").split("\n")).toEqual([
    "deb http://packages.example/debian bookworm main",
    "deb http://packages.example/debian bookworm-updates main",
    "deb http://packages.example/debian-security bookworm-security main",
    "",
  ]);
});

test("leaves a list alone that it does not understand", () => {
  expect(withUpdates("# nothing here\n")).toBe("# nothing here\n");
});
