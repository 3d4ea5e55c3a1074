import { createHash } from "node:crypto";
import { CodecellError } from "../../lib/errors.ts";
import type { Database, Queries } from "./database.ts";
import { databaseError } from "./database-errors.ts";
import { migrations as allMigrations } from "./migrations.ts";

/** One step of the schema. Its text has no parameters. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** What a database has, and what is missing. */
export interface SchemaStatus {
  readonly applied: readonly { readonly number: number; readonly name: string; readonly appliedMs: number }[];
  readonly pending: readonly { readonly number: number; readonly name: string }[];
}

/** Any number that nobody else uses: ten gateways that start at once wait for the one that migrates. */
const migrationLock = 7_302_431_590_113;

/** Brings the schema up to date, and says what was applied. Each migration is one transaction. */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = allMigrations,
): Promise<readonly Migration[]> {
  // Most starts find everything in place, and need neither a lock nor the right to create tables.
  if ((await schemaStatus(database, migrations)).pending.length === 0) return [];
  const done: Migration[] = [];
  for (const migration of migrations) {
    const isApplied = await database.transaction(async (queries) => {
      await lockSchema(queries, database.label);
      await queries.query("create schema if not exists codecell");
      await queries.query(`create table if not exists codecell.migrations (
        number integer primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now())`);
      const { pending } = await statusIn(queries, migrations);
      if (pending[0]?.number !== migration.number) return false;
      await queries.query(migration.sql, [], { timeoutMs: 610_000 });
      await queries.query("insert into codecell.migrations (number, name, sha256) values ($1, $2, $3)", [
        ...[migration.number, migration.name, checksum(migration)],
      ]);
      return true;
    });
    if (isApplied) done.push(migration);
  }
  return done;
}

/** Compares the database with this version of codecell. Throws if it is of a newer or of another version. */
export async function schemaStatus(
  database: Database,
  migrations: readonly Migration[] = allMigrations,
): Promise<SchemaStatus> {
  return statusIn(database, migrations);
}

async function statusIn(queries: Queries, migrations: readonly Migration[]): Promise<SchemaStatus> {
  const [table] = await queries.query<{ found: string | null }>("select to_regclass('codecell.migrations') as found");
  const rows = table?.found
    ? await queries.query<{ number: number; name: string; sha256: string; applied_at: Date }>(
        "select number, name, sha256, applied_at from codecell.migrations order by number limit 1000",
      )
    : [];
  for (const { number, name, sha256 } of rows) {
    const ours = migrations.find((one) => one.number === number);
    if (!ours) throw newerSchema(number, name);
    if (checksum(ours) !== sha256) throw changedSchema(number, name);
  }
  const applied = new Set(rows.map(({ number }) => number));
  return {
    applied: rows.map(({ number, name, applied_at }) => ({ number, name, appliedMs: applied_at.getTime() })),
    pending: migrations.filter(({ number }) => !applied.has(number)).map(({ number, name }) => ({ number, name })),
  };
}

/** Held until the transaction ends. Others wait longer than for any other lock: a migration may rewrite a table. */
async function lockSchema(queries: Queries, label: string): Promise<void> {
  try {
    await queries.query("set local lock_timeout = '120s'");
    await queries.query("set local statement_timeout = '600s'");
    await queries.query("select pg_advisory_xact_lock($1)", [migrationLock], { timeoutMs: 130_000 });
  } catch (error) {
    throw databaseError(error, label);
  }
}

function checksum({ sql }: Migration): string {
  return createHash("sha256").update(sql).digest("hex");
}

function newerSchema(number: number, name: string): CodecellError {
  return new CodecellError("usage", `the database was migrated by a newer codecell (migration ${number}, ${name})`, {
    hint: "update this codecell to at least that version",
    details: { reason: "newer_schema", migration: number },
  });
}

function changedSchema(number: number, name: string): CodecellError {
  return new CodecellError("usage", `migration ${number} (${name}) of the database is not the one of this codecell`, {
    hint: "use the codecell that made this database, or another database",
    details: { reason: "changed_schema", migration: number },
  });
}
