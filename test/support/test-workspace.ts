import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorkspaceFiles, type WorkspaceFiles } from "../../src/artifacts/workspace-files.ts";

export interface TestWorkspace extends AsyncDisposable {
  /** the parent of the workspace */
  readonly base: string;
  readonly root: string;
  /** a file outside the workspace; code that reads CANARY has escaped */
  readonly canary: string;
  readonly files: WorkspaceFiles;
}

/** An empty workspace in its own directory. */
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
