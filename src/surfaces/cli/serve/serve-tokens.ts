import { join, resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { newTokenText, TokenStore } from "../../../service/tenants/token-store.ts";
import { stateDirOf } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";
import { isLoopback, type ServeFlags } from "./serve-options.ts";

export interface ServedTokens {
  readonly store: TokenStore;
  /** a temporary token that has to be shown */
  readonly made: string | undefined;
}

/** Finds the tokens: `--tokens`, `CODECELL_TOKEN`, the state directory; else creates a temporary one, for this machine only. */
export async function servedTokens(flags: ServeFlags, terminal: Terminal): Promise<ServedTokens> {
  const host = flags.host ?? "127.0.0.1";
  const given = terminal.env.CODECELL_TOKEN || undefined;
  if (flags.tokens === undefined && given !== undefined) {
    return { store: TokenStore.single(given), made: undefined };
  }
  const store = await TokenStore.open(tokenFileOf(flags, terminal));
  if ((await store.all()).length > 0 || flags.tokens !== undefined) return { store, made: undefined };
  // The attack: anyone who reaches an open port runs code. So an address that others can reach needs a token that the user created.
  if (!isLoopback(host)) {
    throw new CodecellError("usage", `there is no token, and ${host} is reachable from other machines`, {
      hint: "create a token first: `codecell token create NAME`. The service uses plain HTTP: it is safer to keep it on 127.0.0.1 and put a TLS proxy in front (docs/http.md)",
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
