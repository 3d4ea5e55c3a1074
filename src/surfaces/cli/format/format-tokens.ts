import type { TokenRecord } from "../../../service/tenants/token-record.ts";
import { encodeTime } from "../../../service/wire/timestamp.ts";
import { jsonText } from "./text/json-text.ts";
import type { Style } from "./text/style.ts";
import { tableLines } from "./text/table.ts";

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

/** Everything except the digest. */
export function tokenFacts({ name, scopes, sessions, namespace, createdMs, expiresMs }: TokenRecord): object {
  const expiry = { expires_at: expiresMs === undefined ? null : encodeTime(expiresMs) };
  return { name, scopes, sessions, namespace, created_at: encodeTime(createdMs), ...expiry };
}

export function tokensText(tokens: readonly TokenRecord[], nowMs: number, style: Style, width: number): string {
  if (tokens.length === 0) return "no tokens\n";
  const columns = ["NAME", "SCOPES", "SESSIONS", "NAMESPACE", "EXPIRES"];
  const rows = tokens.map(({ name, scopes, sessions, namespace, expiresMs }) => [
    ...[name, scopes.join(","), String(sessions), namespace, expiryText(expiresMs, nowMs)],
  ]);
  const [header = "", ...body] = tableLines(columns, rows, width);
  return `${[style.dim(header), ...body].join("\n")}\n`;
}

function expiryText(expiresMs: number | undefined, nowMs: number): string {
  if (expiresMs === undefined) return "never";
  return expiresMs <= nowMs ? "expired" : new Date(expiresMs).toISOString().slice(0, 16).replace("T", " ");
}
