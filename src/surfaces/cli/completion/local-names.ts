import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { stateDirOf } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { LocalNames } from "./complete-words.ts";

const maxNames = 500;
/** Ids as `checkSessionId` accepts them. */
const sessionId = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
/** Sessions of a service's tenants are not this user's own. */
const isTenants = /^ns-[0-9a-f]{12}\./;
/** Programs choose the names of files: one that a shell or a terminal could misread is not offered. */
const plainName = /^[\p{L}\p{N}_][\p{L}\p{N}_.,+@%=/-]{0,200}$/u;

/** Names on this machine. Reads only what it needs: the shell waits for the answer. */
export function localNames(terminal: Terminal): LocalNames {
  const stateDirFor = (written: string | undefined) => stateDirOf({ "state-dir": written }, terminal);
  return {
    async sessions(written) {
      const names = await readdir(join(stateDirFor(written), "sessions")).catch(() => []);
      return names.filter((name) => sessionId.test(name) && !isTenants.test(name)).slice(0, maxNames);
    },
    async artifacts(session, written) {
      if (!sessionId.test(session)) return [];
      const { StoredSessions } = await import("../../../sessions/storage/stored-sessions.ts");
      const stored = await StoredSessions.open({ stateDir: stateDirFor(written) });
      await using files = await stored.files(await stored.record(session));
      const list = await files.list({ limit: maxNames });
      return list.files.map(({ path }) => path).filter((name) => plainName.test(name));
    },
  };
}
