import { messageOf } from "../../../lib/errors.ts";
import type { Database } from "../../../store/postgres/database.ts";
import { SessionRows } from "../../../store/postgres/session-rows.ts";
import { checkedRecord, maxRecordBytes } from "../session-record.ts";
import type { StoredSession } from "../stored-sessions.ts";

/** The sessions of a database, the last used one first, without opening any. */
export async function readSharedSessions(database: Database): Promise<StoredSession[]> {
  const found: StoredSession[] = [];
  for await (const { id, record: text, isOwned } of new SessionRows(database).records("", maxRecordBytes)) {
    try {
      const record = checkedRecord(id, () => JSON.parse(text ?? ""));
      found.push({ id, state: isOwned ? "live" : "saved", record });
    } catch (error) {
      found.push({ id, state: "damaged", problem: messageOf(error) });
    }
  }
  return found.sort((a, b) => usedMs(b) - usedMs(a));
}

function usedMs(session: StoredSession): number {
  return session.state === "damaged" ? 0 : session.record.usedMs;
}
