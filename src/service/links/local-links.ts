import { lstat } from "node:fs/promises";
import { signLink } from "../../artifacts/signed-link.ts";
import { checkSessionId } from "../../sessions/session-id.ts";
import { workspacePath } from "../../sessions/storage/stored-workspace.ts";
import type { DownloadUrl } from "../sandbox.ts";
import { openLinkKey } from "./link-key.ts";
import { defaultLinkMs, downloadPath } from "./links.ts";
import { findService } from "./published-service.ts";

/** A session of another process than the service, with a workspace in the same state directory. */
export interface LocalSession {
  readonly id: string;
  readonly workspace: string;
}

/**
 * Links to the files of a session of this process, for the service that runs over the same state directory; undefined
 * when none does, or when the files are where no other process finds them. The key is this user's own file: whoever can
 * read it can read the files as well.
 */
export async function localLinks(stateDir: string, session: LocalSession): Promise<DownloadUrl | undefined> {
  const url = await findService(stateDir);
  if (url === undefined) return undefined;
  const isOnDisk = await lstat(workspacePath(stateDir, session.workspace)).then(
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

/** No id of a session has an `@`, so no tenant's key can be taken for one of these. */
export function localKey({ id, workspace }: LocalSession): string {
  return `${id}@${workspace}`;
}

export function localSessionOf(key: string): LocalSession | undefined {
  const at = key.indexOf("@");
  return at === -1 ? undefined : { id: checkSessionId(key.slice(0, at)), workspace: key.slice(at + 1) };
}
