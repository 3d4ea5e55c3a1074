import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { denyNothing, openWorkspaceFiles, type WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import { CodecellError } from "../../lib/errors.ts";
import { once } from "../../lib/once.ts";
import { pinDisk, releaseDisk } from "../../runners/linux/disk/image/session-disk.ts";
import type { SessionWorkspace } from "../../runners/runner.ts";

/** The path of a session's workspace in a state directory. */
export function workspacePath(stateDir: string, workspace: string): string {
  // The name comes from a record or a link, so it must not be a path.
  if (/^[A-Za-z0-9_-]{1,64}$/.test(workspace)) return join(stateDir, "workspaces", workspace);
  throw new CodecellError("usage", "invalid workspace name");
}

/** The files of a workspace, even while a program writes there; `file_missing` if it is gone. The caller closes them. */
export async function openStoredWorkspace(stateDir: string, workspace: string): Promise<WorkspaceFiles> {
  const path = workspacePath(stateDir, workspace);
  return openSavedFiles({ root: dirname(path), name: basename(path) }).catch((cause: unknown) => {
    if (cause instanceof CodecellError) throw cause;
    throw new CodecellError("file_missing", "the workspace no longer exists", { cause });
  });
}

/** The same, with the error of the OS if it is gone. A file system of the session's own is mounted until they are closed. */
export async function openSavedFiles(workspace: SessionWorkspace): Promise<WorkspaceFiles> {
  const pinned = await pinDisk(workspace);
  const close = async () => {
    await pinned?.letGo();
    if (pinned) await releaseDisk(workspace);
  };
  try {
    const files = await openWorkspaceFiles(await realpath(join(workspace.root, workspace.name)), { deny: denyNothing });
    return pinned ? closedWith(files, close) : files;
  } catch (error) {
    await close();
    throw error;
  }
}

function closedWith(files: WorkspaceFiles, close: () => Promise<void>): WorkspaceFiles {
  const closing = once(async () => {
    await files[Symbol.asyncDispose]();
    await close();
  });
  return {
    stat: (path) => files.stat(path),
    open: (path) => files.open(path),
    read: (path, options) => files.read(path, options),
    stream: (path, range) => files.stream(path, range),
    write: (path, source, options) => files.write(path, source, options),
    list: (options) => files.list(options),
    remove: (path) => files.remove(path),
    [Symbol.asyncDispose]: closing,
  };
}
