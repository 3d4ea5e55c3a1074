import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { databaseOptions, requireDatabaseUrl } from "../shell/database-options.ts";

const options = {
  ...databaseOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const databaseMigrateCommand: Command = {
  name: "database migrate",
  summary: "Create or update the tables of a shared database",
  usage: "codecell database migrate [options]",
  options,
  notes: [
    "`codecell serve` does this at its start. If the user of the service may not create tables, run this command as the owner of the database.",
    "Several processes may do this at the same time: one of them migrates, the others wait. A database of a newer codecell is not changed.",
    "Give the password in PGPASSWORD or ~/.pgpass, or the whole URL in CODECELL_DATABASE_URL or in the file that CODECELL_DATABASE_URL_FILE names.",
  ],
  examples: [
    ["codecell database migrate --database postgres://owner@db/codecell?sslmode=verify-full", "before an update"],
    ["CODECELL_DATABASE_URL_FILE=/run/secrets/database codecell database migrate --json", "in a job, for programs"],
  ],
  run: runDatabaseMigrate,
};

async function runDatabaseMigrate(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("database migrate", argv, options, 0);
  const url = await requireDatabaseUrl(values, terminal);
  const { Database } = await import("../../../store/postgres/database.ts");
  const { migrate } = await import("../../../store/postgres/migrate.ts");
  await using database = await Database.open(url, { connections: 1 });
  const applied = await migrate(database);
  const { stdout } = terminal;
  if (values.json) stdout.write(jsonText({ applied: applied.map(({ number, name }) => ({ number, name })) }));
  else if (applied.length === 0) stdout.write("the database is up to date\n");
  else for (const { number, name } of applied) stdout.write(`applied ${number} ${name}\n`);
  return 0;
}
