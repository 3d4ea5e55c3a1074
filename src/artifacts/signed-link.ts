import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";

/** What a link gives access to: one content of one file of a session, until a time, with a disposition. */
export interface LinkClaim {
  /** full id with the tenant's namespace, so that a link of one tenant cannot name a file of another */
  readonly session: string;
  readonly name: string;
  readonly sha256: string;
  readonly expiresMs: number;
  readonly disposition: "attachment" | "inline";
}

/** `forged`: anything that this key did not sign, well-formed or not. */
export type LinkCheck =
  | { readonly status: "valid"; readonly claim: LinkClaim }
  | { readonly status: "expired" | "forged" };

const maxLinkCharacters = 4_096;
const claimSchema = z.tuple([
  z.literal(1),
  z.string(),
  z.string(),
  z.string().regex(/^[0-9a-f]{64}$/),
  z.int(),
  z.enum(["attachment", "inline"]),
]);

/** One path segment: the claim and its HMAC. */
export function signLink(key: Uint8Array, { session, name, sha256, expiresMs, disposition }: LinkClaim): string {
  const claim: z.input<typeof claimSchema> = [1, session, name, sha256, expiresMs, disposition];
  const payload = Buffer.from(JSON.stringify(claim)).toString("base64url");
  return `${payload}.${codeOf(key, payload).toString("base64url")}`;
}

/** Compares the HMAC in constant time, and before it parses the claim. */
export function checkLink(key: Uint8Array, text: string, nowMs: number): LinkCheck {
  const forged = { status: "forged" } as const;
  if (text.length > maxLinkCharacters) return forged;
  const match = /^([\w-]+)\.([\w-]{43})$/.exec(text);
  const [, payload = "", code = ""] = match ?? [];
  const expected = codeOf(key, payload);
  const given = Buffer.from(code, "base64url");
  // base64 decoding ignores spare bits at the end; require the canonical text, so that a claim has one link.
  const isSame = given.length === expected.length && timingSafeEqual(given, expected);
  if (!match || !isSame || given.toString("base64url") !== code) return forged;
  const claim = claimSchema.safeParse(parsed(payload));
  if (!claim.success) return forged;
  const [, session, name, sha256, expiresMs, disposition] = claim.data;
  if (expiresMs <= nowMs) return { status: "expired" };
  return { status: "valid", claim: { session, name, sha256, expiresMs, disposition } };
}

function codeOf(key: Uint8Array, payload: string): Buffer {
  // The attack: reusing an HMAC that was made with the same key for another purpose.
  return createHmac("sha256", key).update("codecell artifact link\0").update(payload).digest();
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}
