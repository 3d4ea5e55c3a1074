import { StoredSessions } from "../../../sessions/storage/stored-sessions.ts";
import { type StateFlags, stateDirOf } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";

/** Opens the sessions on disk for commands that start no cell. */
export function openStored(flags: StateFlags, terminal: Terminal): Promise<StoredSessions> {
  return StoredSessions.open({ stateDir: stateDirOf(flags, terminal) });
}
