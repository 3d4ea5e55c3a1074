import { join, resolve } from "node:path";
import type { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError } from "../../../lib/errors.ts";
import type { Logger } from "../../../lib/log/logger.ts";
import { newTokenText } from "../../../service/tenants/new-token.ts";
import type { TokenStorage } from "../../../service/tenants/token-storage.ts";
import { TokenStore } from "../../../service/tenants/token-store.ts";
import type { Database } from "../../../store/postgres/database.ts";
import { stateDirOf } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";
import { isLoopback, type ServeFlags } from "./serve-options.ts";

/** A new token, which nobody knows yet: valid until the service stops, or until it is removed. */
export interface ShownToken {
  readonly token: string;
  readonly isTemporary: boolean;
}

export interface ServedTokens {
  readonly store: TokenStorage;
  /** Creates the first token, if there has to be one. Call it when it can be shown for certain. */
  make(): Promise<ShownToken | undefined>;
}

/** Where the tokens of this service may be. */
export interface TokenPlaces {
  /** the database of the service, if it has one */
  readonly database: Database | undefined;
  readonly logger: Logger;
  readonly cleanup: Cleanup;
}

/** A token for the owner of a service may have as many sessions as a token can. */
const ownerSessions = 10_000;

/**
 * Finds the tokens: `--tokens`, `CODECELL_TOKEN`, the database, the state directory; else creates a temporary one, for this
 * machine only.
 */
export async function servedTokens(flags: ServeFlags, terminal: Terminal, places: TokenPlaces): Promise<ServedTokens> {
  const host = flags.host ?? "127.0.0.1";
  const given = terminal.env.CODECELL_TOKEN || undefined;
  if (flags.tokens === undefined && given !== undefined) {
    return { store: TokenStore.single(given), make: nothing };
  }
  const store = await openTokens(flags, terminal, places);
  const isEmpty = (await store.all()).length === 0;
  const owner = flags["create-token"];
  if (isEmpty && owner !== undefined) {
    return { store, make: () => createUnlessOther(store, owner) };
  }
  if (!isEmpty || flags.tokens !== undefined) return { store, make: nothing };
  // The attack: anyone who reaches an open port runs code. So an address that others can reach needs a token that the user created.
  if (!isLoopback(host)) {
    throw new CodecellError("usage", `there is no token, and ${host} is reachable from other machines`, {
      hint: "create a token first: `codecell token create NAME`, or add --create-token NAME. The service uses plain HTTP: it is safer to keep it on 127.0.0.1 and put a TLS proxy in front (docs/http.md)",
    });
  }
  const token = newTokenText();
  return { store: TokenStore.single(token), make: async () => ({ token, isTemporary: true }) };
}

const nothing = async () => undefined;

export function tokenFileOf(
  flags: { readonly tokens?: string | undefined; readonly "state-dir"?: string | undefined },
  terminal: Terminal,
): string {
  return flags.tokens === undefined
    ? join(stateDirOf(flags, terminal), "tokens.json")
    : resolve(terminal.cwd, flags.tokens);
}

async function openTokens(
  flags: ServeFlags,
  terminal: Terminal,
  { database, logger, cleanup }: TokenPlaces,
): Promise<TokenStorage> {
  if (database === undefined || flags.tokens !== undefined) return TokenStore.open(tokenFileOf(flags, terminal));
  const { PostgresTokens } = await import("../../../service/tenants/postgres-tokens.ts");
  const tokens = await PostgresTokens.open(database, { logger });
  cleanup.defer(() => tokens[Symbol.asyncDispose]());
  return tokens;
}

/** The owner's token; undefined: another gateway that starts right now created it, and shows it. */
async function createUnlessOther(store: TokenStorage, name: string): Promise<ShownToken | undefined> {
  try {
    const { token } = await store.create({ name, scopes: ["admin"], sessions: ownerSessions }, Date.now());
    return { token, isTemporary: false };
  } catch (error) {
    if (error instanceof CodecellError && error.details.reason === "token_exists") return undefined;
    throw error;
  }
}
