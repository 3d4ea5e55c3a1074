import { join, resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { newTokenText, TokenStore } from "../../../service/tenants/token-store.ts";
import { stateDirOf } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";
import { isLoopback, type ServeFlags } from "./serve-options.ts";

export interface ServedTokens {
  readonly store: TokenStore;
  /** made for this start, and to be shown */
  readonly made: string | undefined;
}

/** Where a service's tokens are: `--tokens`, `CODECELL_TOKEN`, the state directory; else one is made, for this machine only. */
export async function servedTokens(flags: ServeFlags, terminal: Terminal): Promise<ServedTokens> {
  const host = flags.host ?? "127.0.0.1";
  const given = terminal.env.CODECELL_TOKEN || undefined;
  if (flags.tokens === undefined && given !== undefined) {
    return { store: TokenStore.single(given), made: undefined };
  }
  const store = await TokenStore.open(tokenFileOf(flags, terminal));
  if ((await store.all()).length > 0 || flags.tokens !== undefined) return { store, made: undefined };
  // The attack: whoever reaches an open port runs code. So an address that others reach needs a token that somebody chose.
  if (!isLoopback(host)) {
    throw new CodecellError("usage", `there is no token, and ${host} can be reached from other machines`, {
      hint: "`codecell token create --name NAME` first. The service speaks plain HTTP: better leave it on 127.0.0.1 and put a proxy with TLS in front (docs/http.md)",
    });
  }
  const made = newTokenText();
  return { store: TokenStore.single(made), made };
}

export function tokenFileOf(
  flags: { readonly tokens?: string | undefined; readonly "state-dir"?: string | undefined },
  terminal: Terminal,
): string {
  return flags.tokens === undefined
    ? join(stateDirOf(flags, terminal), "tokens.json")
    : resolve(terminal.cwd, flags.tokens);
}
