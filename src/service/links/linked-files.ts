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
  /** where sessions of other processes have their files; absent: nowhere */
  readonly stateDir: string | undefined;
  /** whether some token still has this namespace */
  knowsNamespace(namespace: string): Promise<boolean>;
}

export interface LinkedFiles extends AsyncDisposable {
  readonly files: WorkspaceFiles;
}

/** The files of the session that a link names; undefined when this service does not give them out. */
export async function openLinkedFiles({ session: key }: LinkClaim, host: LinkHost): Promise<LinkedFiles | undefined> {
  const local = localSessionOf(key);
  if (local) {
    if (host.stateDir === undefined) return undefined;
    // A session of another process of this user: its files are read from the disk, without a cell.
    const stored = await openStoredWorkspace(host.stateDir, local.workspace);
    const written = host.codecell.audit;
    const files = written ? auditedFiles(stored, written.audit, local.id) : stored;
    return { files, [Symbol.asyncDispose]: () => files[Symbol.asyncDispose]() };
  }
  const namespace = key.slice(0, key.indexOf("."));
  if (!(await host.knowsNamespace(namespace))) return undefined;
  // through the tenant's own view, so that no error names a namespace
  const sessions = new TenantSessions(host.codecell, namespace, 0);
  const files = await (await sessions.get(shownId(key))).files();
  return { files, async [Symbol.asyncDispose]() {} }; // the session closes them
}
