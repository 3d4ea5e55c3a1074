import { expect, test } from "vitest";
import { buildFailure, pullFailure } from "./image-failure.ts";

const long = `The command '/bin/sh -c apt-get update ${"x ".repeat(500)}' returned a non-zero code: 100`;

test("a build failure shows the error of the build, not the whole command", () => {
  const { message, hint } = buildFailure(long, ["Reading lists", "E: Unable to locate package python9"], "default");
  expect(message).toContain("E: Unable to locate package python9");
  expect(message).toContain("returned a non-zero code: 100");
  expect(message.length).toBeLessThan(300);
  expect(hint).toContain("--verbose");
});

test("a build without a network gets the hint to use the host's network, unless it did", () => {
  const last = ["Err:1 http://packages.example", "Temporary failure resolving 'packages.example'"];
  expect(buildFailure(long, last, "default").hint).toContain("--network host");
  expect(buildFailure(long, last, "host").hint).not.toContain("--network");
});

test("a failed pull gets the hint to build without a registry", () => {
  const { code, message, hint } = pullFailure("debian:12", 'Get "https://registry.example/v2/": no such host');
  expect({ code, message }).toMatchObject({
    code: "image_failed",
    message: expect.stringContaining("no such host"),
  });
  expect(hint).toContain("--bootstrap debian");
});
