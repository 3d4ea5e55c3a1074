import { CodecellError } from "../../lib/errors.ts";

/** How to reach a PostgreSQL server. Without a password, `PGPASSWORD` and `~/.pgpass` are used. */
export interface DatabaseAddress {
  /** a host name, an address, or the directory of a Unix socket */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly tls: DatabaseTls;
}

/** `off`: no encryption; `unverified`: encrypted, but anybody could be the server; `verified`: the certificate is checked */
export type DatabaseTls =
  | { readonly mode: "off" }
  | {
      readonly mode: "unverified" | "verified";
      readonly rootCertFile: string | undefined;
      readonly certFile: string | undefined;
      readonly keyFile: string | undefined;
    };

const example = "postgres://codecell@db.example/codecell?sslmode=verify-full";
const knownParameters = new Set(["host", "port", "user", "sslmode", "sslrootcert", "sslcert", "sslkey"]);
const tlsModes = { disable: "off", require: "unverified", "verify-full": "verified" } as const;

/** Parses the URL of a database. Messages never repeat the URL: it may contain a password. */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^postgres(?:ql)?:$/.test(url.protocol)) throw wrong("it is not a URL of PostgreSQL");
  const parameters = url.searchParams;
  for (const name of parameters.keys()) {
    if (!knownParameters.has(name)) throw wrong(`it has the unknown parameter ${JSON.stringify(name.slice(0, 40))}`);
  }
  const host = parameters.get("host") ?? decoded(url.hostname).replace(/^\[(.*)\]$/, "$1");
  if (host === "") throw wrong("it names no host");
  const database = decoded(url.pathname.slice(1));
  if (database === "" || database.includes("/")) throw wrong("it names no database");
  const port = Number(parameters.get("port") ?? (url.port || "5432"));
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw wrong("its port is not valid");
  return {
    ...{ host, port, database },
    user: parameters.get("user") ?? (decoded(url.username) || undefined),
    password: decoded(url.password) || undefined,
    tls: tlsOf(parameters, host),
  };
}

/** How messages name a database: without user and password. */
export function databaseLabel({ host, port, database }: DatabaseAddress): string {
  return host.startsWith("/") ? `${database} in ${host}` : `${database} on ${host}:${port}`;
}

function tlsOf(parameters: URLSearchParams, host: string): DatabaseTls {
  const asked = parameters.get("sslmode");
  // The attack: whoever is between a gateway and its database reads or changes every session.
  if (asked === null && !isThisMachine(host)) {
    throw wrong("it reaches another machine and does not say whether the connection is encrypted", {
      hint: "add ?sslmode=verify-full, or ?sslmode=disable if nobody else is on that network",
    });
  }
  const mode = Object.hasOwn(tlsModes, asked ?? "disable") && tlsModes[(asked ?? "disable") as keyof typeof tlsModes];
  if (!mode) throw wrong("its sslmode is not supported", { hint: `use one of: ${Object.keys(tlsModes).join(", ")}` });
  if (mode === "off") return { mode };
  const file = (name: string) => parameters.get(name) ?? undefined;
  return { mode, rootCertFile: file("sslrootcert"), certFile: file("sslcert"), keyFile: file("sslkey") };
}

function isThisMachine(host: string): boolean {
  return host.startsWith("/") || host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw wrong("it has a % that is not followed by two hex digits", { hint: "write % as %25, also in the password" });
  }
}

function wrong(why: string, { hint = `write it like ${example}` } = {}): CodecellError {
  return new CodecellError("usage", `the URL of the database cannot be used: ${why}`, { hint });
}
