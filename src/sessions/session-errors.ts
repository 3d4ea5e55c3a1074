import { CodecellError } from "../lib/errors.ts";
import type { PreviousHolder } from "./storage/session-storage.ts";

/** The error for calls after the caller closed the session. */
export function sessionClosed(id: string): CodecellError {
  return new CodecellError("session_closed", `session ${id} is closed`);
}

/** The error for calls after codecell closed the session without a request of the caller. */
export function sessionExpired(id: string, why: string, isKept: boolean): CodecellError {
  const rest = isKept ? "its saved state is kept" : "its variables and files are lost";
  const hint = isKept ? "open it by its id to restore it" : "open it by its id to start it again";
  return new CodecellError("session_culled", `session ${id} expired: ${why}; ${rest}`, { hint });
}

/** Without a hint: each surface has its own way to list and open sessions. */
export function sessionUnknown(id: string): CodecellError {
  return new CodecellError("session_unknown", `there is no session ${JSON.stringify(id)}`);
}

/** The error for a session that is gone with the gateway that had it. */
export function sessionLost(id: string, { owner, lostMs }: PreviousHolder): CodecellError {
  const since = lostMs === undefined ? "" : ` at ${new Date(lostMs).toISOString()}`;
  const message = `session ${id} is gone: its gateway ${owner} was lost${since}, and the session was not saved`;
  return new CodecellError("session_closed", message, {
    hint: "create it again to get an empty session with this id",
    details: { gateway: owner },
  });
}

export function sessionExists(id: string): CodecellError {
  return new CodecellError("usage", `session ${id} already exists`, { hint: "use another id" });
}
