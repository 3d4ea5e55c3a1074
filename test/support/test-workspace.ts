import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorkspaceFiles, type WorkspaceFiles } from "../../src/artifacts/workspace-files.ts";

export interface TestWorkspace extends AsyncDisposable {
  /** holds the workspace, and what is beside it */
  readonly base: string;
  readonly root: string;
  /** a file outside of the workspace: whoever reads CANARY has got out */
  readonly canary: string;
  readonly files: WorkspaceFiles;
}

/** An empty workspace in a directory of its own. */
export async function openTestWorkspace(): Promise<TestWorkspace> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "codecell-files-")));
  const root = join(base, "workspace");
  const canary = join(base, "canary");
  await mkdir(root);
  await writeFile(canary, "CANARY");
  const files = await openWorkspaceFiles(root);
  const dispose = async () => {
    await files[Symbol.asyncDispose]();
    await rm(base, { recursive: true, force: true });
  };
  return { base, root, canary, files, [Symbol.asyncDispose]: dispose };
}
