import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { denyNothing, openWorkspaceFiles, type WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import { CodecellError } from "../../lib/errors.ts";

/** The path of a session's workspace in a state directory. */
export function workspacePath(stateDir: string, workspace: string): string {
  // The name comes from a record or a link, so it must not be a path.
  if (/^[A-Za-z0-9_-]{1,64}$/.test(workspace)) return join(stateDir, "workspaces", workspace);
  throw new CodecellError("usage", "invalid workspace name");
}

/** The files of a workspace, even while a program writes there; `file_missing` if it is gone. The caller closes them. */
export async function openStoredWorkspace(stateDir: string, workspace: string): Promise<WorkspaceFiles> {
  const path = await realpath(workspacePath(stateDir, workspace)).catch((cause: unknown) => {
    throw new CodecellError("file_missing", "the workspace no longer exists", { cause });
  });
  return openWorkspaceFiles(path, { deny: denyNothing });
}
