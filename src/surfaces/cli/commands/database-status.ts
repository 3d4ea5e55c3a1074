import { encodeTime } from "../../../service/wire/timestamp.ts";
import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { plural } from "../format/text/plural.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { databaseOptions, requireDatabaseUrl } from "../shell/database-options.ts";

const options = {
  ...databaseOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const databaseStatusCommand: Command = {
  name: "database status",
  summary: "Check that a shared database can be reached and has the tables of this version",
  usage: "codecell database status [options]",
  options,
  notes: ["Exit code: 0 if the tables are up to date, 1 if a migration is missing. Nothing is changed."],
  examples: [
    [
      "codecell database status --database postgres://codecell@db/codecell?sslmode=verify-full",
      "before the first start",
    ],
    ["codecell database status --json", "for programs; the database is in CODECELL_DATABASE_URL"],
  ],
  run: runDatabaseStatus,
};

async function runDatabaseStatus(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("database status", argv, options, 0);
  const url = await requireDatabaseUrl(values, terminal);
  const { Database } = await import("../../../store/postgres/database.ts");
  const { schemaStatus } = await import("../../../store/postgres/migrate.ts");
  const { databaseFacts } = await import("../../../store/postgres/database-facts.ts");
  await using database = await Database.open(url, { connections: 1 });
  const { applied, pending } = await schemaStatus(database);
  const { serverVersion, sessions, tokens } = await databaseFacts(database);
  const isCurrent = pending.length === 0;
  const { stdout } = terminal;
  if (values.json) {
    const migrations = applied.map(({ number, name, appliedMs }) => ({
      number,
      name,
      applied_at: encodeTime(appliedMs),
    }));
    stdout.write(
      jsonText({
        database: database.label,
        up_to_date: isCurrent,
        applied: migrations,
        pending,
        server_version: serverVersion,
        sessions,
        tokens,
      }),
    );
    return isCurrent ? 0 : 1;
  }
  stdout.write(`${database.label}: PostgreSQL ${serverVersion}\n`);
  for (const { number, name } of applied) stdout.write(`applied ${number} ${name}\n`);
  for (const { number, name } of pending)
    stdout.write(`missing ${number} ${name}: run \`codecell database migrate\`\n`);
  if (sessions !== null) stdout.write(`${plural(sessions, "saved session")}, ${plural(tokens ?? 0, "token")}\n`);
  return isCurrent ? 0 : 1;
}
