import { createHmac, timingSafeEqual } from "node:crypto";

const maxCharacters = 4_096;

/** One path segment: the claim and its HMAC. The attack: reusing an HMAC of another purpose; so each purpose has its own. */
export function signClaim(key: Uint8Array, purpose: string, claim: readonly unknown[]): string {
  const payload = Buffer.from(JSON.stringify(claim)).toString("base64url");
  return `${payload}.${codeOf(key, purpose, payload).toString("base64url")}`;
}

/** The claim; undefined: this key did not sign it for this purpose. The HMAC is compared in constant time, before it is parsed. */
export function signedClaim(key: Uint8Array, purpose: string, text: string): unknown {
  if (text.length > maxCharacters) return undefined;
  const match = /^([\w-]+)\.([\w-]{43})$/.exec(text);
  const [, payload = "", code = ""] = match ?? [];
  const expected = codeOf(key, purpose, payload);
  const given = Buffer.from(code, "base64url");
  // base64 decoding ignores spare bits at the end; require the canonical text, so that a claim has one link.
  const isSame = given.length === expected.length && timingSafeEqual(given, expected);
  if (!match || !isSame || given.toString("base64url") !== code) return undefined;
  return parsed(payload);
}

function codeOf(key: Uint8Array, purpose: string, payload: string): Buffer {
  return createHmac("sha256", key).update(`${purpose}\0`).update(payload).digest();
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}
