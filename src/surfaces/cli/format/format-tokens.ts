import type { TokenRecord } from "../../../service/tenants/token-store.ts";
import { jsonText } from "./json-text.ts";
import type { Style } from "./style.ts";
import { tableLines } from "./table.ts";

interface MadeToken {
  readonly token: string;
  readonly record: TokenRecord;
}

/** The token alone on its line, so that it can be piped. */
export function tokenText({ token }: MadeToken): string {
  return `${token}\n`;
}

export function tokenJson({ token, record }: MadeToken): string {
  return jsonText({ token, ...tokenFacts(record) });
}

/** Everything but the digest. */
export function tokenFacts({ name, scopes, sessions, namespace, createdMs, expiresMs }: TokenRecord): object {
  return { name, scopes, sessions, namespace, created_ms: createdMs, expires_ms: expiresMs ?? null };
}

export function tokensText(tokens: readonly TokenRecord[], nowMs: number, style: Style, width: number): string {
  if (tokens.length === 0) return "no tokens\n";
  const columns = ["NAME", "SCOPES", "SESSIONS", "NAMESPACE", "EXPIRES"];
  const rows = tokens.map(({ name, scopes, sessions, namespace, expiresMs }) => [
    ...[name, scopes.join(","), String(sessions), namespace, expiry(expiresMs, nowMs)],
  ]);
  const [header = "", ...body] = tableLines(columns, rows, width);
  return `${[style.dim(header), ...body].join("\n")}\n`;
}

function expiry(expiresMs: number | undefined, nowMs: number): string {
  if (expiresMs === undefined) return "never";
  return expiresMs <= nowMs ? "expired" : new Date(expiresMs).toISOString().slice(0, 16).replace("T", " ");
}
