import type { Artifact, LeftOut, LeftOutReason } from "../../artifacts/artifact.ts";
import type { FileFacts, FileList } from "../../artifacts/workspace-file.ts";
import { Fields } from "./fields.ts";

/** A file that a run created or changed, with a link to it. */
export interface RemoteArtifact extends Artifact {
  /** anybody who has it can download this content, until it expires; absent: the service has none */
  readonly downloadUrl?: string;
}

export function decodeArtifact(value: unknown, what: string, run?: number): RemoteArtifact {
  const artifact = new Fields(value, what);
  const downloadUrl = artifact.optional("download_url", artifact.text);
  return {
    ...{ name: artifact.text("name"), size: artifact.count("size"), mimeType: artifact.text("mime_type") },
    ...{ sha256: artifact.text("sha256"), modifiedMs: artifact.optional("modified_at", artifact.time) ?? 0 },
    ...(run === undefined ? {} : { run }),
    ...(downloadUrl === undefined ? {} : { downloadUrl }),
  };
}

export function decodeLeftOut(value: unknown, what: string): LeftOut {
  const file = new Fields(value, what);
  return { name: file.text("name"), reason: file.text("reason") as LeftOutReason, message: file.text("message") };
}

export function decodeFileList(value: unknown): FileList {
  const page = new Fields(value, "the list of files");
  const next = page.optional("next", page.text);
  return {
    files: page.list("files", decodeFile),
    ...(next === undefined ? {} : { next }),
    ...{ leftOut: page.count("left_out"), truncated: page.flag("truncated") },
  };
}

function decodeFile(value: unknown, what: string): FileFacts {
  const file = new Fields(value, what);
  const modifiedMs = file.optional("modified_at", file.time) ?? 0;
  return { path: file.text("name"), size: file.count("size"), modifiedMs };
}
