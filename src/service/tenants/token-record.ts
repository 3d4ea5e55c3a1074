import { hash } from "node:crypto";
import { z } from "zod";
import { isNamespace } from "../../sessions/session-id.ts";
import { scopes } from "./scope.ts";

/** Limit of sessions per token. For a single token this is no limit: the policy's `session.limit` applies. */
export const maxSessions = 10_000;
/** How many tokens there may be: each request is compared with all of them. */
export const maxTokens = 10_000;

export const tokenSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, "use letters, digits, dots, dashes and underscores"),
  /** of the token, which itself is never stored */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  scopes: z.array(z.enum(scopes)).min(1),
  /** limit of its sessions, saved ones included */
  sessions: z.int().min(1).max(maxSessions),
  namespace: z.string().refine(isNamespace, "not a namespace"),
  createdMs: z.int(),
  expiresMs: z.int().optional(),
});
/** A token as the store keeps it: its digest, never its text. */
export type TokenRecord = Readonly<z.output<typeof tokenSchema>>;

export function isExpired({ expiresMs = Number.POSITIVE_INFINITY }: TokenRecord, nowMs: number): boolean {
  return expiresMs <= nowMs;
}

/** What is stored of a token; records have it in hex. */
export function digestOf(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
