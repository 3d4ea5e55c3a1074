import { CodecellError } from "../../../lib/errors.ts";
import { toldError } from "../../../service/tools/code-tool.ts";
import type { CodeSession } from "../../../sessions/code-session.ts";
import { loadPeer } from "../load-peer.ts";
import { Workspace, type WorkspaceOptions } from "../workspace.ts";
import { agentsPackage } from "./agents-package.ts";

/** One change of a file, as the model asks for it. */
export type PatchOperation =
  | { type: "create_file"; path: string; diff: string }
  | { type: "update_file"; path: string; diff: string; moveTo?: string | undefined }
  | { type: "delete_file"; path: string };

/** Whether the file was changed, and if not, why. */
export interface PatchResult {
  status: "completed" | "failed";
  output: string;
}

/** An editor of the OpenAI Agents SDK: fits its interface `Editor`. */
export interface OpenAiEditor {
  createFile(operation: Extract<PatchOperation, { type: "create_file" }>): Promise<PatchResult>;
  updateFile(operation: Extract<PatchOperation, { type: "update_file" }>): Promise<PatchResult>;
  deleteFile(operation: Extract<PatchOperation, { type: "delete_file" }>): Promise<PatchResult>;
}

type ApplyDiff = (text: string, diff: string, mode?: "default" | "create") => string;

const maxEditedBytes = 8 * 2 ** 20;

/** Changes files of a session's workspace for `applyPatchTool`. No other file is reached. */
export function sessionEditor(session: CodeSession, options: Pick<WorkspaceOptions, "directory"> = {}): OpenAiEditor {
  const workspace = new Workspace(session, options);
  return {
    createFile: ({ path, diff }) =>
      answered(async () => {
        if (await exists(workspace, path)) throw new CodecellError("file_refused", `${path} exists already`);
        await workspace.write(path, encoded((await applyDiff())("", diff, "create")));
        return `created ${path}`;
      }),
    updateFile: ({ path, diff, moveTo }) =>
      answered(async () => {
        const text = decoded(await workspace.read(path, maxEditedBytes), path);
        await workspace.write(moveTo ?? path, encoded((await applyDiff())(text, diff)));
        const isMoved = moveTo !== undefined && workspace.relative(moveTo) !== workspace.relative(path);
        if (isMoved) await workspace.remove(path);
        return isMoved ? `updated ${path} and moved it to ${moveTo}` : `updated ${path}`;
      }),
    deleteFile: ({ path }) =>
      answered(async () => {
        await workspace.remove(path);
        return `deleted ${path}`;
      }),
  };
}

async function applyDiff(): Promise<ApplyDiff> {
  return (await loadPeer(agentsPackage)).applyDiff as ApplyDiff;
}

/** A patch that fails is a result for the model: an exception would end the run of the agent. */
async function answered(change: () => Promise<string>): Promise<PatchResult> {
  try {
    return { status: "completed", output: await change() };
  } catch (error) {
    const isOurs = Object(error).name === "CodecellError";
    return { status: "failed", output: isOurs ? toldError(error).message : String(Object(error).message ?? error) };
  }
}

async function exists(workspace: Workspace, path: string): Promise<boolean> {
  const { files } = await workspace.list(path);
  return files.length > 0;
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The attack is an accident: a patch of a file that is not text would destroy it. */
function decoded(data: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch (cause) {
    throw new CodecellError("file_refused", `${path} is not UTF-8 text`, { cause });
  }
}
