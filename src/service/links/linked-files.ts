import type { LinkClaim } from "../../artifacts/signed-link.ts";
import type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import type { Codecell } from "../../sessions/codecell.ts";
import { auditedFiles } from "../../sessions/files/audited-files.ts";
import { shownId } from "../../sessions/session-id.ts";
import { openStoredWorkspace } from "../../sessions/storage/stored-workspace.ts";
import { TenantSessions } from "../tenants/tenant-sessions.ts";
import { localSessionOf } from "./local-links.ts";

export interface LinkHost {
  readonly codecell: Codecell;
  /** where other processes keep the files of their sessions; undefined: local sessions have no links */
  readonly stateDir: string | undefined;
  /** whether a valid token has this namespace */
  knowsNamespace(namespace: string): Promise<boolean>;
}

export interface LinkedFiles extends AsyncDisposable {
  readonly files: WorkspaceFiles;
}

/** The files of the session in a link; undefined if this service does not serve them. */
export async function openLinkedFiles({ session: key }: LinkClaim, host: LinkHost): Promise<LinkedFiles | undefined> {
  const local = localSessionOf(key);
  if (local) {
    if (host.stateDir === undefined) return undefined;
    // A session of another process of this user: read its files from the disk, without a cell.
    const stored = await openStoredWorkspace(host.stateDir, local.workspace);
    const written = host.codecell.audit;
    const files = written ? auditedFiles(stored, written.audit, local.id) : stored;
    return { files, [Symbol.asyncDispose]: () => files[Symbol.asyncDispose]() };
  }
  const namespace = key.slice(0, key.indexOf("."));
  if (!(await host.knowsNamespace(namespace))) return undefined;
  // through `TenantSessions`, so that no error message contains a namespace
  const sessions = new TenantSessions(host.codecell, namespace, 0);
  const files = await (await sessions.get(shownId(key))).files();
  return { files, async [Symbol.asyncDispose]() {} }; // the session closes them
}
