import { CodecellError } from "../../lib/errors.ts";
import type { MadeToken, NewToken } from "./new-token.ts";
import type { TokenRecord } from "./token-record.ts";

/** The tokens of a service. Other processes may change them at any time. */
export interface TokenStorage {
  /** whether there can be several tenants */
  readonly isShared: boolean;
  /** all tokens as of the last check; the same array until they change */
  readonly current: readonly TokenRecord[];
  /** All tokens that are valid now, or were a few seconds ago: the store says how long a removed one may work. */
  all(): Promise<readonly TokenRecord[]>;
  /** The record of the token in a header. */
  find(header: string | undefined, nowMs: number): Promise<TokenRecord | undefined>;
  /** Adds a token and returns its text, which cannot be shown again. */
  create(token: NewToken, nowMs: number): Promise<MadeToken>;
  /** Creates a new secret for the same tenant. Its sessions stay, and the old secret stops working. */
  rotate(name: string): Promise<MadeToken>;
  remove(name: string): Promise<void>;
}

export function tokenExists(name: string): CodecellError {
  return new CodecellError("usage", `token ${name} already exists`, {
    hint: `use another name, or run \`codecell token rotate ${name}\` to get a new secret`,
    details: { reason: "token_exists" },
  });
}

export function tokenUnknown(name: string): CodecellError {
  return new CodecellError("usage", `there is no token named ${JSON.stringify(name.slice(0, 80))}`, {
    hint: "`codecell token ls` lists the tokens",
  });
}
