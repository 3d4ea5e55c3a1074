import { createHash } from "node:crypto";
import type { CellFiles } from "../../../kernel/cell-files.ts";
import type { CellFile } from "../../../kernel/messages.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { pieceBytes } from "../../files/kernel-file.ts";

/** A file of the cell cannot be read now. The cell and the store are fine, so the other files are. */
export class UnreadableFile extends Error {
  readonly isGone: boolean;

  constructor(reason: string, isGone = false) {
    super(reason);
    this.isGone = isGone;
  }
}

/** A file whose first piece was read. */
export interface CellContent {
  readonly file: CellFile;
  /** the hash of the whole, if one piece is all */
  readonly sha256: string | undefined;
  pieces(): AsyncGenerator<Uint8Array>;
}

/**
 * Reads a file of a cell piece by piece, and fails if it changes meanwhile: no saved file is a mix of two contents. Nothing is asked
 * for after `endMs`, by the clock of `performance`.
 */
export async function readContent(cell: CellFiles, path: string, endMs: number): Promise<CellContent> {
  const readPiece = (at: number) => pieceOf(cell, path, at, endMs);
  const { data: first, file } = await readPiece(0);
  if (first.byteLength < Math.min(file.size, pieceBytes)) throw changed();
  const isWhole = first.byteLength === file.size;
  return {
    file,
    sha256: isWhole ? createHash("sha256").update(first).digest("hex") : undefined,
    async *pieces() {
      yield first;
      for (let at = first.byteLength; at < file.size; ) {
        const piece = await readPiece(at);
        if (piece.file.version !== file.version || piece.data.byteLength === 0) throw changed();
        at += piece.data.byteLength;
        yield piece.data;
      }
    },
  };
}

async function pieceOf(cell: CellFiles, path: string, at: number, endMs: number) {
  if (performance.now() > endMs) throw new UnreadableFile("the cell took too long to send its files");
  try {
    return await cell.read(path, at, at + pieceBytes);
  } catch (error) {
    const code = error instanceof CodecellError ? error.code : undefined;
    if (code === "file_missing") throw new UnreadableFile("it was deleted meanwhile", true);
    if (code === "file_refused" || code === "too_large" || code === "expression_failed")
      throw new UnreadableFile((error as Error).message);
    throw error;
  }
}

function changed(): UnreadableFile {
  return new UnreadableFile("it changed while it was being saved");
}
