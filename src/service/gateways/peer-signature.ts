import { createHash } from "node:crypto";
import { z } from "zod";
import { signClaim, signedClaim } from "../../artifacts/signed-claim.ts";

/** The header of a request that a gateway passes on. */
export const forwardedHeader = "x-codecell-forwarded";

/** What a gateway says about a request that it passes on. */
export interface ForwardClaim {
  readonly from: string;
  readonly to: string;
  /** by the clock of the directory */
  readonly atMs: number;
  readonly method: string;
  /** path and query */
  readonly target: string;
}

const purpose = "codecell forwarded request";
const claimSchema = z.tuple([z.literal(1), z.string(), z.string(), z.int(), z.string(), z.string()]);

/** How long a signature is valid: a request is sent at once, and both sides use the clock of the directory. */
const validMs = 30_000;

export function signForward(key: Uint8Array, { from, to, atMs, method, target }: ForwardClaim): string {
  return signClaim(key, purpose, [1, from, to, Math.round(atMs), method, digestOf(target)]);
}

/**
 * The gateway that signed this request for this gateway; undefined: nobody did. The attacks: a client that forges the header, and
 * one that sends a header again which it saw, to another gateway, for another path or later.
 */
export function signerOf(
  key: Uint8Array,
  text: string,
  request: {
    readonly me: string;
    readonly nowMs: number;
    readonly method: string;
    readonly target: string;
  },
): string | undefined {
  const parts = claimSchema.safeParse(signedClaim(key, purpose, text));
  if (!parts.success) return undefined;
  const [, from, to, atMs, method, target] = parts.data;
  const isFresh = Math.abs(request.nowMs - atMs) <= validMs;
  const isSame = method === request.method && target === digestOf(request.target);
  return isFresh && isSame && request.me === to ? from : undefined;
}

/** A digest, so that the header stays small whatever the target is. */
function digestOf(target: string): string {
  return createHash("sha256").update(target).digest("base64url");
}
