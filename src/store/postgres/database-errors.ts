import { CodecellError, messageOf } from "../../lib/errors.ts";

/** What a failed statement means for the caller. A refusal of ours passes through. */
export function databaseError(error: unknown, label: string): CodecellError {
  if (error instanceof CodecellError) return error;
  const code = codeOf(error);
  const details = { reason: "database", ...(code === undefined ? {} : { code }) };
  const why = `the database (${label}) ${reasonOf(code, error)}`;
  const fix = fixOf(code, error);
  if (fix !== undefined) return new CodecellError("service_unavailable", why, { hint: fix, cause: error, details });
  if (code === "42501") {
    return new CodecellError("usage", why, {
      hint: "let the owner of the database run `codecell database migrate`, and grant this user the tables of schema codecell",
      ...{ cause: error, details },
    });
  }
  if (isUnavailable(code, error)) {
    return new CodecellError("service_unavailable", why, {
      hint: "check that PostgreSQL runs and can be reached, then try again",
      ...{ cause: error, details },
    });
  }
  return new CodecellError("internal", why, { cause: error, details });
}

/** Whether an error says that the database cannot be used now. */
export function isDatabaseDown(error: unknown): boolean {
  return error instanceof CodecellError && error.code === "service_unavailable" && error.details.reason === "database";
}

/** Whether a unique index refused a row, because there is an equal one. */
export function isDuplicate(error: unknown): boolean {
  return error instanceof CodecellError && error.details.reason === "database" && error.details.code === "23505";
}

/** Somebody else holds the session now, and what this process knows of it is out of date. */
export function lostOwnership(id: string): CodecellError {
  return new CodecellError("session_busy", `session ${id} is held by another process now; nothing was written`, {
    hint: "ask again: the process that holds the session answers",
    details: { reason: "lost_ownership" },
  });
}

/** What the operator has to change, if waiting does not help. */
function fixOf(code: string | undefined, error: unknown): string | undefined {
  if (code?.startsWith("28")) return `check the user and the password: ${passwords}`;
  if (isPasswordMissing(error)) return `give the password: ${passwords}`;
  if (code === "3D000") return "create the database, for example with `createdb`, or correct its name in the URL";
  if (!isTlsMissing(error)) return undefined;
  return "turn on `ssl` in PostgreSQL, or use ?sslmode=disable if nobody else is on that network";
}

const passwords = "PGPASSWORD, ~/.pgpass, or the whole URL in the file that CODECELL_DATABASE_URL_FILE names";

// `pg` has no codes for these two.
function isPasswordMissing(error: unknown): boolean {
  return /password must be a (?:non-empty )?string/i.test(messageOf(error));
}

function isTlsMissing(error: unknown): boolean {
  return /does not support SSL/i.test(messageOf(error));
}

function reasonOf(code: string | undefined, error: unknown): string {
  if (code?.startsWith("28")) return "refuses this user or its password";
  if (isPasswordMissing(error)) return "asks for a password, and none was given";
  if (isTlsMissing(error)) return "does not offer encrypted connections";
  if (code === "3D000") return "does not exist on this server";
  if (code === "57014") return "took too long to answer";
  if (code === "ECONNREFUSED" || code === "ENOENT") return "does not accept connections";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "has a host name that cannot be resolved";
  return `failed: ${messageOf(error) || code}`;
}

/** Connections that broke, servers that start or stop, and resources that ran out: SQLSTATE classes 08, 53, 57 and 58. */
function isUnavailable(code: string | undefined, error: unknown): boolean {
  if (code === undefined)
    return /terminated|timeout|not queryable|closed the connection|Cannot use a pool/i.test(messageOf(error));
  if (/^(?:08|53|57|58)/.test(code) || code === "55P03" || code === "25006") return true;
  return /^E[A-Z]+$/.test(code) || code.startsWith("ERR_TLS") || /CERT|SIGNED/.test(code);
}

/** Of a connection attempt to several addresses, the first reason. */
function codeOf(error: unknown): string | undefined {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const code = (first as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}
