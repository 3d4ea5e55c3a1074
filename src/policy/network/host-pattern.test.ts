import { expect, test } from "vitest";
import { hostPattern, hostPatternCovers, showHostPattern } from "./host-pattern.ts";

test.each(["packages.example", "*.example.com", "git.example.com:22", "xn--bcher-kva.example"])(
  "a host pattern may be %s",
  (host) => {
    expect(hostPattern().safeParse(host).success).toBe(true);
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
  ...["-a.com", "a.com:0", "a.com:065", "a.com:65536", "a.com.", "a.*.com", "a.com\0.evil.org", "", 5],
])("a host pattern may not be %j", (host) => expect(hostPattern().safeParse(host).success).toBe(false));

test.each([
  ["bücher.example", "xn--bcher-kva.example"],
  ["*.bücher.example:8443", "*.xn--bcher-kva.example:8443"],
  ["bu\u0308cher.example", "xn--bcher-kva.example"],
  ["straße.example", "xn--strae-oqa.example"],
  ["日本語.example", "xn--wgv71a119e.example"],
  ["例え.テスト", "xn--r8jz45g.xn--zckzah"],
])("a host pattern is converted to punycode when it is parsed: %s", (text, ascii) => {
  expect(hostPattern().parse(text)).toBe(ascii);
  expect(hostPattern().parse(ascii)).toBe(ascii);
});

test.each([
  ["a soft hyphen", "go\u00adod.example"],
  ["a long s", "\u017f.example"],
  ["an ideographic full stop", "good\u3002example"],
  ["a ligature", "\ufb01.example"],
  ["circled digits", "①②⑦.0.0.1"],
  ["a full-width letter", "ｇood.example"],
  ["the Kelvin sign", "\u212a.example"],
  ["a capital", "Bücher.example"],
  ["a zero-width joiner", "a\u200db.example"],
  ["a text direction mark", "a\u202eb.example"],
  ["a symbol", "☃.example"],
  ["an xn-- label that is not ASCII", "xn--bücher.example"],
  ["a label too long in punycode", `${"ü".repeat(60)}a${"é".repeat(2)}.example`],
])("a host pattern that programs convert differently is refused: %s", (_, text) => {
  expect(hostPattern().safeParse(text).success).toBe(false);
});

test("an international name is shown in both forms, so look-alike names can be told apart", () => {
  expect(showHostPattern("*.xn--bcher-kva.example:22")).toBe("*.xn--bcher-kva.example:22 (bücher.example)");
  expect(showHostPattern("xn--ypal-43d9g.example")).toBe("xn--ypal-43d9g.example (раypal.example)");
  expect(showHostPattern("paypal.example")).toBe("paypal.example");
  expect(showHostPattern("xn--a.example")).toBe("xn--a.example");
});

test("a wildcard covers whole labels below a name, but not the name itself", () => {
  expect(hostPatternCovers("*.a.com", "b.a.com")).toBe(true);
  expect(hostPatternCovers("*.a.com", "*.b.a.com")).toBe(true);
  expect(hostPatternCovers("*.a.com", "a.com")).toBe(false);
  expect(hostPatternCovers("*.a.com", "xa.com")).toBe(false);
  expect(hostPatternCovers("b.a.com", "*.a.com")).toBe(false);
});

test("a host pattern without a port covers ports 80 and 443 only", () => {
  expect(hostPatternCovers("a.com", "a.com:443")).toBe(true);
  expect(hostPatternCovers("a.com", "a.com:22")).toBe(false);
  expect(hostPatternCovers("a.com:443", "a.com")).toBe(false);
});
