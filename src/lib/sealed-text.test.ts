import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { SealedText } from "./sealed-text.ts";

test("SealedText opens what it sealed, and nothing that was changed, truncated or sealed for another purpose", () => {
  const secret = randomBytes(32);
  const box = new SealedText(secret, "places");
  const sealed = box.seal('{"a":1}');
  expect(box.open(sealed)).toBe('{"a":1}');
  expect(sealed).not.toContain(Buffer.from("a").toString("base64url").repeat(2));
  expect(box.seal('{"a":1}')).not.toBe(sealed);
  for (let at = 0; at < sealed.length; at += 7) {
    const changed = `${sealed.slice(0, at)}${sealed[at] === "A" ? "B" : "A"}${sealed.slice(at + 1)}`;
    expect(box.open(changed)).toBeUndefined();
  }
  expect(box.open(sealed.slice(0, -4))).toBeUndefined();
  expect(box.open("")).toBeUndefined();
  expect(new SealedText(secret, "links").open(sealed)).toBeUndefined();
  expect(new SealedText(randomBytes(32), "places").open(sealed)).toBeUndefined();
});
