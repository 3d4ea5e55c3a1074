import { CodecellError } from "../../lib/errors.ts";
import type { Session } from "../../sessions/session.ts";
import { shownId } from "../../sessions/session-id.ts";
import { TenantSessions } from "../tenants/tenant-sessions.ts";
import type { LinkHost } from "./linked-files.ts";

/** The session in a link; undefined if its token or the session is gone. */
export async function openLinkedSession(key: string, host: LinkHost): Promise<Session | undefined> {
  const namespace = key.slice(0, key.indexOf("."));
  if (!(await host.knowsNamespace(namespace))) return undefined;
  // through `TenantSessions`, so that no error message contains a namespace
  return new TenantSessions(host.codecell, namespace, 0).get(shownId(key)).catch((error: unknown) => {
    if (error instanceof CodecellError && error.code === "session_unknown") return undefined;
    throw error;
  });
}
