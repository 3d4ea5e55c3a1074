import type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import type { FileSource } from "../../artifacts/write-file.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { LiveSession } from "../live-session.ts";
import type { SessionAudit } from "../session-audit.ts";
import { hashedSource } from "./audited-files.ts";

/** How a file gets into a workspace. */
export interface UploadOptions {
  readonly maxBytes: number;
  /** who owns the file, where the host may choose; asked only where files lie on the host */
  readonly owner: () => Promise<{ ownerUid?: number }>;
  /** called with each piece: a long upload is use, as long as something of it comes */
  readonly onPiece: () => void;
  readonly signal?: AbortSignal;
  /** absent: nothing is recorded */
  readonly audit?: { readonly log: SessionAudit; readonly session: string } | undefined;
}

/** Puts a file into a session's workspace, whole or not at all. */
export async function uploadFile(
  session: LiveSession,
  path: string,
  source: FileSource,
  { maxBytes, owner, onPiece, signal, audit }: UploadOptions,
): Promise<{ size: number }> {
  const files = filesOf(session);
  // Files in a cell's own memory have no owner.
  const ownerUid = session.features.includes("files") ? {} : await owner();
  const used = source instanceof Uint8Array ? source : noticing(source, onPiece);
  const hashed = audit ? hashedSource(used) : undefined;
  const written = await files.write(path, hashed?.source ?? used, {
    maxBytes,
    ...(signal ? { signal } : {}),
    ...ownerUid,
  });
  session.given(await files.stat(path));
  if (audit && hashed) {
    const facts = { bytes: written.size, sha256: hashed.digest() };
    audit.log.audit.record({ type: "file.uploaded", session: audit.session, path, ...facts });
    await audit.log.settled();
  }
  return written;
}

/** The workspace of a session as the host reaches it. */
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

async function* noticing(pieces: AsyncIterable<Uint8Array>, onPiece: () => void): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    onPiece();
    yield piece;
  }
}
