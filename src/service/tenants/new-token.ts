import { randomBytes } from "node:crypto";
import type { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { newNamespace } from "../../sessions/session-id.ts";
import type { Scope } from "./scope.ts";
import { digestOf, type TokenRecord, tokenSchema } from "./token-record.ts";

/** Options of a new token. */
export interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly sessions: number;
  readonly expiresMs?: number | undefined;
}

/** A token, whose text cannot be shown again, and its record. */
export interface MadeToken {
  readonly token: string;
  readonly record: TokenRecord;
}

/** A token that is not stored yet. */
export function madeToken({ name, expiresMs, ...rest }: NewToken, nowMs: number): MadeToken {
  const { token, sha256 } = newSecret();
  const record = tokenSchema.safeParse({
    ...{ name, ...rest, sha256, namespace: newNamespace(), createdMs: nowMs },
    ...(expiresMs === undefined ? {} : { expiresMs }),
  });
  if (!record.success) throw new CodecellError("usage", wrongToken(name, record.error));
  return { token, record: record.data };
}

/** A new token that cannot be guessed. */
export function newTokenText(): string {
  return `cc_${randomBytes(32).toString("base64url")}`;
}

/** A new token, and what is stored of it. */
export function newSecret(): { readonly token: string; readonly sha256: string } {
  const token = newTokenText();
  return { token, sha256: digestOf(token).toString("hex") };
}

function wrongToken(name: string, { issues: [issue] }: z.ZodError): string {
  const message = issue?.message ?? "it is invalid";
  return issue?.path[0] === "name" ? `${JSON.stringify(name.slice(0, 80))} is not a valid name: ${message}` : message;
}
