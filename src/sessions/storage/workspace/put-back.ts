import { checkArtifactName } from "../../../artifacts/artifact-name.ts";
import type { CellFiles } from "../../../kernel/cell-files.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { pieceBytes } from "../../files/kernel-file.ts";
import type { SavedFile } from "./saved-files.ts";

/** What is wrong with this one file: its bytes in the store, its name, or the room in the cell. */
const ofOneFile: ReadonlySet<string> = new Set(["file_missing", "snapshot_damaged", "file_refused", "too_large"]);

/** Writes a saved file into a cell, whole or not at all. Returns why it could not. */
export async function putBack(
  cell: CellFiles,
  { path }: SavedFile,
  content: () => AsyncIterable<Uint8Array>,
): Promise<string | undefined> {
  const upload = cell.newUpload();
  try {
    checkArtifactName(path);
    let isBegun = false;
    for await (const piece of content()) {
      for (let at = 0; at < piece.byteLength; at += pieceBytes)
        await cell.write(upload, piece.subarray(at, at + pieceBytes));
      isBegun ||= piece.byteLength > 0;
    }
    if (!isBegun) await cell.write(upload, new Uint8Array());
    await cell.place(upload, path);
    return undefined;
  } catch (error) {
    await cell.drop(upload).catch(() => {});
    if (error instanceof CodecellError && ofOneFile.has(error.code)) return error.message;
    throw error;
  }
}
