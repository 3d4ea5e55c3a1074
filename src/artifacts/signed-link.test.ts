import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { checkLink, type LinkClaim, signLink } from "./signed-link.ts";

const key = Buffer.alloc(32, 7);
const claim: LinkClaim = {
  session: "ns-0123456789ab.work",
  name: "plots/größe.png",
  sha256: "a".repeat(64),
  expiresMs: 1_000,
  disposition: "attachment",
};

describe("a signed link", () => {
  test("returns the signed claim until it expires", () => {
    const text = signLink(key, claim);
    expect(text).toMatch(/^[\w.-]+$/);
    expect(checkLink(key, text, 999)).toEqual({ status: "valid", claim });
    expect(checkLink(key, text, 1_000)).toEqual({ status: "expired" });
  });

  test.each<Partial<LinkClaim>>([
    { session: "ns-0123456789ab.other" },
    { session: "ns-ffffffffffff.work" },
    { name: "plots/other.png" },
    { sha256: "b".repeat(64) },
    { expiresMs: 2_000 },
    { disposition: "inline" },
  ])("is forged when its code is used for another claim: %o", (change) => {
    const [, code] = signLink(key, claim).split(".");
    const [payload] = signLink(key, { ...claim, ...change }).split(".");
    expect(checkLink(key, `${payload}.${code}`, 0)).toEqual({ status: "forged" });
  });

  test("is forged when any of its characters is changed", () => {
    const text = signLink(key, claim);
    for (let at = 0; at < text.length; at++) {
      for (const other of ["A", "b", "_", ".", ""]) {
        const changed = text.slice(0, at) + other + text.slice(at + 1);
        if (changed !== text) expect(checkLink(key, changed, 0), changed).toEqual({ status: "forged" });
      }
    }
  });

  test("is valid for any claim, under its own key only", () => {
    for (let round = 0; round < 300; round++) {
      const bytes = randomBytes(40);
      const random: LinkClaim = {
        session: `ns-${bytes.toString("hex", 0, 6)}.${bytes.toString("hex", 6, 12)}`,
        name: bytes.toString("utf8", 12, 12 + (round % 28)).replaceAll("\ufffd", "x"),
        sha256: randomBytes(32).toString("hex"),
        expiresMs: bytes.readUInt32LE(0) + 1,
        disposition: round % 2 === 0 ? "inline" : "attachment",
      };
      const own = randomBytes(32);
      const text = signLink(own, random);
      expect(checkLink(own, text, 0)).toEqual({ status: "valid", claim: random });
      expect(checkLink(randomBytes(32), text, 0)).toEqual({ status: "forged" });
    }
  });

  test.each(["", ".", "a", "a.b", `${"A".repeat(5_000)}.${"A".repeat(43)}`, "../../etc/passwd", "%00.%00"])(
    "is forged when it is %j",
    (text) => expect(checkLink(key, text, 0)).toEqual({ status: "forged" }),
  );
});
