import { CodecellError } from "../../../lib/errors.ts";
import type { TokenStorage } from "../../../service/tenants/token-storage.ts";
import { TokenStore } from "../../../service/tenants/token-store.ts";
import { tokenFileOf } from "../serve/serve-tokens.ts";
import { type DatabaseFlags, databaseUrlOf } from "../shell/database-options.ts";
import type { StateFlags } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";

type TokenFlags = DatabaseFlags & StateFlags & { readonly tokens?: string | undefined };

/** Runs a command with the tokens: those of the database if one is named, else those of the file. */
export async function withTokens<Result>(
  flags: TokenFlags,
  terminal: Terminal,
  work: (tokens: TokenStorage) => Promise<Result>,
): Promise<Result> {
  if (flags.tokens !== undefined && flags.database !== undefined) throw twoPlaces();
  const url = flags.tokens === undefined ? await databaseUrlOf(flags, terminal) : undefined;
  if (url === undefined) return work(await TokenStore.open(tokenFileOf(flags, terminal)));
  const { openDatabase } = await import("../../../store/postgres/open-database.ts");
  const { PostgresTokens } = await import("../../../service/tenants/postgres-tokens.ts");
  await using database = await openDatabase(url);
  await using tokens = await PostgresTokens.open(database, { listens: false });
  return await work(tokens);
}

export function twoPlaces(): CodecellError {
  return new CodecellError("usage", "--tokens and --database name two places for the tokens", {
    hint: "remove one of the two",
  });
}
