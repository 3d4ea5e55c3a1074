import { expect, test } from "vitest";
import { checkImageName, splitImageName } from "./image-name.ts";

test.each([
  ["debian:bookworm-slim", "debian", "bookworm-slim"],
  ["debian", "debian", "latest"],
  ["registry.example:5000/team/python", "registry.example:5000/team/python", "latest"],
  ["registry.example:5000/team/python:3.11", "registry.example:5000/team/python", "3.11"],
  [`debian@sha256:${"a".repeat(64)}`, "debian", `sha256:${"a".repeat(64)}`],
])("splitImageName splits %s into repository and tag", (name, repository, tag) => {
  expect(splitImageName(checkImageName(name, "--base"))).toEqual({ repository, tag });
});

test.each([
  ...[
    "",
    "Debian",
    "../../containers/create",
    "a/../b",
    "debian:bookworm?x=1",
    "debian#x",
    "a b",
    "/debian",
    "debian:",
  ],
  ...["debian/json", "x".repeat(300)].slice(1),
])("checkImageName rejects %j", (name) => {
  expect(() => checkImageName(name, "--base")).toThrow(expect.objectContaining({ code: "usage" }));
});
