import { expect, test } from "vitest";
import { hostPattern, hostPatternCovers } from "./host-pattern.ts";

test.each(["packages.example", "*.example.com", "git.example.com:22", "xn--bcher-kva.example"])(
  "accepts %s",
  (host) => {
    expect(hostPattern.safeParse(host).success).toBe(true);
  },
);

test.each([
  ...[
    "*",
    "*.",
    "localhost",
    "PyPI.org",
    "https://packages.example",
    "packages.example/",
    "10.0.0.1",
    "1.2.3",
    "0x7f.1",
    "[::1]",
    "a..b.c",
  ],
  ...[
    "-a.com",
    "a.com:0",
    "a.com:065",
    "a.com:65536",
    "a.com.",
    "a.*.com",
    "bücher.example",
    "a.com\0.evil.org",
    "",
    5,
  ],
])("refuses %j", (host) => expect(hostPattern.safeParse(host).success).toBe(false));

test("a wildcard covers whole labels below a name and not the name", () => {
  expect(hostPatternCovers("*.a.com", "b.a.com")).toBe(true);
  expect(hostPatternCovers("*.a.com", "*.b.a.com")).toBe(true);
  expect(hostPatternCovers("*.a.com", "a.com")).toBe(false);
  expect(hostPatternCovers("*.a.com", "xa.com")).toBe(false);
  expect(hostPatternCovers("b.a.com", "*.a.com")).toBe(false);
});

test("a pattern without a port covers the ports of the web only", () => {
  expect(hostPatternCovers("a.com", "a.com:443")).toBe(true);
  expect(hostPatternCovers("a.com", "a.com:22")).toBe(false);
  expect(hostPatternCovers("a.com:443", "a.com")).toBe(false);
});
