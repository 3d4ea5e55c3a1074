import { lstat } from "node:fs/promises";
import { maxListedParts } from "../../artifacts/list-files.ts";
import type { FileSource } from "../../artifacts/workspace-file.ts";
import type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import { CodecellError } from "../../lib/errors.ts";
import { printable } from "../../policy/file/problem.ts";
import { formatSize } from "../../policy/format-units.ts";
import type { Policy } from "../../policy/schema.ts";
import type { LiveSession } from "../live-session.ts";
import type { SessionAudit } from "../session-audit.ts";
import type { SessionStorage } from "../storage/session-storage.ts";
import { hashedSource } from "./audited-files.ts";

/** Options of an upload. */
export interface UploadOptions {
  readonly store: SessionStorage;
  /** name of the session's workspace in the store */
  readonly workspace: string;
  /** called with each piece: an upload counts as use of the session as long as data arrives */
  readonly onPiece: () => void;
  readonly signal?: AbortSignal;
  /** absent: nothing is recorded */
  readonly audit?: { readonly log: SessionAudit; readonly session: string } | undefined;
}

/** Puts a file of at most `proc.disk` bytes into a session's workspace, whole or not at all. */
export async function uploadFile(
  session: LiveSession,
  path: string,
  source: FileSource,
  { store, workspace, onPiece, signal, audit }: UploadOptions,
): Promise<{ size: number }> {
  const files = filesOf(session);
  if (path.split("/").length > maxListedParts) {
    const message = `the path has more than ${maxListedParts} parts, so the file would never be listed`;
    throw new CodecellError("file_refused", message, { hint: "use fewer directories" });
  }
  // A cell writes its own files itself, as the user that its programs have.
  const owner = session.filesStayInCell ? {} : await workspaceOwner(session.policy, store, workspace);
  const used = source instanceof Uint8Array ? source : noticing(source, onPiece);
  const hashed = audit ? hashedSource(used) : undefined;
  const maxBytes = await roomFor(session, files, path);
  const written = await files
    .write(path, hashed?.source ?? used, { maxBytes, ...(signal ? { signal } : {}), ...owner })
    .catch((error: unknown) => {
      throw maxBytes < session.policy.proc.diskBytes ? noRoom(error, path, session.policy) : error;
    });
  session.given(await files.stat(path));
  if (audit && hashed) {
    const facts = { bytes: written.size, sha256: hashed.digest() };
    audit.log.audit.record({ type: "file.uploaded", session: audit.session, path, ...facts });
    await audit.log.settled(audit.session);
  }
  return written;
}

/** How large a file may be: what is left of `proc.disk`, and what the file that it replaces takes. */
async function roomFor({ disk, policy }: LiveSession, files: WorkspaceFiles, path: string): Promise<number> {
  const { diskBytes } = policy.proc;
  if (!disk) return diskBytes;
  const leftBytes = await disk.leftBytes();
  if (leftBytes === diskBytes) return diskBytes;
  const replaced = await files.stat(path).catch(() => undefined);
  return Math.min(diskBytes, leftBytes + (replaced?.size ?? 0));
}

function noRoom(error: unknown, path: string, { proc }: Policy): unknown {
  if (!(error instanceof CodecellError) || error.code !== "too_large") return error;
  const message = `the workspace has no room for ${printable(path, 200)}: proc.disk is ${formatSize(proc.diskBytes)}`;
  const hint = "delete files that the session no longer needs";
  return new CodecellError("too_large", message, { hint, cause: error, details: { rule: "proc.disk" } });
}

/** The workspace of a session, as the host accesses it. */
export function filesOf(session: LiveSession): WorkspaceFiles {
  if (session.files) return session.files;
  throw new CodecellError(
    "not_supported",
    `the ${session.receipt.runner} runner does not share its files with the host`,
    {
      hint: "read and write them from code, or use the process runner",
    },
  );
}

/** Only root can give a file to another user: to the one that the cell's programs run as. */
async function workspaceOwner(policy: Policy, store: SessionStorage, name: string): Promise<{ ownerUid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const { workspace } = policy.fs;
  return { ownerUid: workspace ? (await lstat(workspace)).uid : await store.workspaces.owner(name) };
}

async function* noticing(pieces: AsyncIterable<Uint8Array>, onPiece: () => void): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    onPiece();
    yield piece;
  }
}
