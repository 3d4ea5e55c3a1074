import { z } from "zod";
import { signClaim, signedClaim } from "./signed-claim.ts";

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

const purpose = "codecell artifact link";
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
  return signClaim(key, purpose, claim);
}

export function checkLink(key: Uint8Array, text: string, nowMs: number): LinkCheck {
  const claim = claimSchema.safeParse(signedClaim(key, purpose, text));
  if (!claim.success) return { status: "forged" };
  const [, session, name, sha256, expiresMs, disposition] = claim.data;
  if (expiresMs <= nowMs) return { status: "expired" };
  return { status: "valid", claim: { session, name, sha256, expiresMs, disposition } };
}
