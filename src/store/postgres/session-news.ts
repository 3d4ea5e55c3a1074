import type { Logger } from "../../lib/log/logger.ts";
import type { Database } from "./database.ts";
import { KeptConnection } from "./kept-connection.ts";

const channel = "codecell_sessions";

/** SQL: tells every gateway that `owner` took a session or gave it back, when the statement is committed. */
export function tellGateways(id: string, owner: string): string {
  return `pg_notify('${channel}', ${id} || ' ' || ${owner})`;
}

export interface SessionNewsOptions {
  /** `owner` took a session or gave it back */
  readonly onChanged: (id: string, owner: string) => void;
  /** the connection broke and is up again: something may have happened meanwhile */
  readonly onMissed: () => void;
  readonly logger: Logger;
}

/** Listens to what `tellGateways` tells, until it is disposed. It is news and decides nothing: what counts is in the tables. */
export function listenForSessions(database: Database, options: SessionNewsOptions): Promise<AsyncDisposable> {
  return KeptConnection.open(database, {
    setUp: async (client) => {
      await client.query(`listen ${channel}`);
    },
    onNotification: (_, payload = "") => {
      const [id, owner] = payload.split(" ");
      if (id !== undefined && owner !== undefined) options.onChanged(id, owner);
    },
    onBack: options.onMissed,
    logger: options.logger,
  });
}
