import { shownId } from "../session-id.ts";
import type { SessionRecord } from "./session-record.ts";
import type { PreviousHolder } from "./session-storage.ts";

/** Pure: what the next result says about a session that another process had when it was lost. */
export function lostNote(id: string, { owner, lostMs }: PreviousHolder, record: SessionRecord | undefined): string {
  const since = lostMs === undefined ? "" : ` at ${new Date(lostMs).toISOString()}`;
  const gateway = `session ${shownId(id)} was open on gateway ${owner}, which was lost${since}`;
  if (!record) return `${gateway}; its variables and files are gone: this is a new, empty session`;
  const { snapshot, runs } = record;
  if (!snapshot) return `${gateway}; nothing of its variables was saved`;
  const later = runs > snapshot.run ? `; runs after it are lost` : "";
  return `${gateway}; its variables are those of the save after run ${snapshot.run}${later}`;
}
