import { stat } from "node:fs/promises";
import { signLink } from "../../artifacts/signed-link.ts";
import { checkSessionId } from "../../sessions/session-id.ts";
import { workspacePath } from "../../sessions/storage/stored-workspace.ts";
import type { DownloadUrl } from "../sandbox.ts";
import { openLinkKey } from "./link-key.ts";
import { defaultLinkMs, downloadPath } from "./links.ts";
import { findService } from "./published-service.ts";

/** A session outside the service's process, with a workspace in the same state directory. */
export interface LocalSession {
  readonly id: string;
  readonly workspace: string;
}

/**
 * Links to the files of a session of this process, served by the service of the same state directory. Undefined if no
 * service runs there, or if the files are not on disk. Using the service's key is safe: it belongs to this user, who can
 * read the files anyway.
 */
export async function localLinks(stateDir: string, session: LocalSession): Promise<DownloadUrl | undefined> {
  const url = await findService(stateDir);
  if (url === undefined) return undefined;
  const isOnDisk = await stat(workspacePath(stateDir, session.workspace)).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isOnDisk) return undefined;
  const key = await openLinkKey(stateDir);
  return ({ name, sha256 }) => {
    const expiresMs = Date.now() + defaultLinkMs;
    const claim = { session: localKey(session), name, sha256, expiresMs, disposition: "attachment" } as const;
    return `${url}${downloadPath}${signLink(key, claim)}`;
  };
}

/** A session id never contains an `@`, so this key never equals a tenant's. */
export function localKey({ id, workspace }: LocalSession): string {
  return `${id}@${workspace}`;
}

export function localSessionOf(key: string): LocalSession | undefined {
  const at = key.indexOf("@");
  return at === -1 ? undefined : { id: checkSessionId(key.slice(0, at)), workspace: key.slice(at + 1) };
}
