import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { signClaim } from "../../artifacts/signed-claim.ts";
import { signerOf, signForward } from "./peer-signature.ts";

const key = randomBytes(32);
const claim = { from: "g-1", to: "g-2", atMs: 1_000_000, method: "POST", target: "/v1/sessions/a/runs?x=1" };
const request = { me: "g-2", nowMs: 1_010_000, method: claim.method, target: claim.target };

test("the gateway that a request is for sees who signed it", () => {
  expect(signerOf(key, signForward(key, claim), request)).toBe("g-1");
});

test("a signature is worth nothing for another gateway, method, path or time, or with another key", () => {
  const text = signForward(key, claim);
  const others = [
    { ...request, me: "g-3" },
    { ...request, method: "GET" },
    { ...request, target: "/v1/sessions/b/runs" },
    { ...request, nowMs: claim.atMs + 30_001 },
    { ...request, nowMs: claim.atMs - 30_001 },
  ];
  for (const other of others) expect(signerOf(key, text, other)).toBeUndefined();
  expect(signerOf(randomBytes(32), text, request)).toBeUndefined();
});

test("texts that clients invent are refused, also a signature that the same key made for a link", () => {
  const link = signClaim(key, "codecell display link", [1, "g-1", "g-2", 1_000_000, "POST", "/v1/sessions/a/runs"]);
  for (const text of ["1", "", "true", "a.b", link, "x".repeat(10_000)]) {
    expect(signerOf(key, text, request)).toBeUndefined();
  }
});
