import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { parseDatabaseUrl } from "../../../store/postgres/database-url.ts";
import type { OptionTable } from "./arguments.ts";
import type { Terminal } from "./terminal.ts";

export const databaseOptions = {
  database: {
    type: "string",
    value: "URL",
    help: "PostgreSQL database of sessions and tokens, without a password. Default: $CODECELL_DATABASE_URL, or the URL in the file $CODECELL_DATABASE_URL_FILE; with neither, files are used.",
  },
} as const satisfies OptionTable;

export interface DatabaseFlags {
  readonly database?: string | undefined;
}

const maxFileBytes = 16 * 1024;

/** The database: `--database`, `CODECELL_DATABASE_URL`, or the file `CODECELL_DATABASE_URL_FILE`; undefined: files. */
export async function databaseUrlOf(flags: DatabaseFlags, terminal: Terminal): Promise<string | undefined> {
  const { CODECELL_DATABASE_URL: given, CODECELL_DATABASE_URL_FILE: file } = terminal.env;
  if (flags.database !== undefined) {
    // The attack: every user of a machine can read the arguments of every process.
    if (parseDatabaseUrl(flags.database).password !== undefined) {
      throw new CodecellError("usage", "--database contains a password, which every user of this machine could read", {
        hint: "remove it from the URL, and set PGPASSWORD, use ~/.pgpass, or name a file with the whole URL in CODECELL_DATABASE_URL_FILE",
      });
    }
    return flags.database;
  }
  if (given) return given;
  return file ? readUrlFile(resolve(terminal.cwd, file)) : undefined;
}

/** The same for commands that need a database. */
export async function requireDatabaseUrl(flags: DatabaseFlags, terminal: Terminal): Promise<string> {
  const url = await databaseUrlOf(flags, terminal);
  if (url !== undefined) return url;
  throw new CodecellError("usage", "no database is configured", {
    hint: "add --database postgres://user@host/database, or set CODECELL_DATABASE_URL or CODECELL_DATABASE_URL_FILE",
  });
}

async function readUrlFile(path: string): Promise<string> {
  const name = "CODECELL_DATABASE_URL_FILE";
  const file = await open(path, "r").catch((cause: unknown) => {
    throw new CodecellError("usage", `${name}: ${messageOf(cause)}`, {
      hint: "write the whole URL of the database into this file, with mode 0440 or stricter",
      cause,
    });
  });
  try {
    const stats = await file.stat();
    // A secret that Kubernetes mounts belongs to a group, so only others matter.
    if (!stats.isFile() || (stats.mode & 0o007) !== 0) {
      throw new CodecellError("usage", `${name}: ${path} can be read by others`, { hint: `chmod o-rwx ${path}` });
    }
    if (stats.size > maxFileBytes) throw new CodecellError("usage", `${name}: ${path} is too large for a URL`);
    const url = (await file.readFile("utf8")).trim();
    if (url !== "") return url;
    throw new CodecellError("usage", `${name}: ${path} is empty`);
  } finally {
    await file.close();
  }
}
