import { CodecellError } from "../../../lib/errors.ts";
import { type SavedFile, savedFileList } from "./saved-files.ts";

/** The list of the files of a save, as it was stored. */
export async function readFileList(source: AsyncIterable<Uint8Array>): Promise<SavedFile[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of source) pieces.push(piece);
  try {
    return savedFileList.parse(JSON.parse(Buffer.concat(pieces).toString()));
  } catch (cause) {
    throw new CodecellError("snapshot_damaged", "the list of the saved files cannot be read", { cause });
  }
}
