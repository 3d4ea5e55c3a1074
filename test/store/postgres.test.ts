import { afterAll, beforeAll, describe } from "vitest";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";
import { auditHeadCases } from "./cases/audit-heads.ts";
import { commandCases } from "./cases/database-commands.ts";
import { fencingCases } from "./cases/fencing.ts";
import { historyLimitCases } from "./cases/history-limits.ts";
import { manySavesCases } from "./cases/many-saves.ts";
import { migrationCases } from "./cases/migrations.ts";
import { sessionStoreCases } from "./cases/session-store.ts";
import { tokenCases } from "./cases/tokens.ts";

sessionStoreCases("files");

// One file, because a server takes seconds to start.
describe.skipIf(noPostgres)("with PostgreSQL", () => {
  let started: PostgresServer | undefined;
  beforeAll(async () => {
    started = await startPostgres();
  });
  afterAll(() => started?.[Symbol.asyncDispose]());
  const server = () => {
    if (!started) throw new Error("PostgreSQL has not started");
    return started;
  };
  sessionStoreCases("postgresql", server);
  migrationCases(server);
  fencingCases(server);
  historyLimitCases(server);
  manySavesCases(server);
  tokenCases(server);
  auditHeadCases(server);
  commandCases(server);
});
