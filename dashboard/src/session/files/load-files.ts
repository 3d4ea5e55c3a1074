import type { WireFileList } from "../../../../src/service/wire/file.ts";
import { getJson, type SessionRef, sessionPath } from "../../api/client.ts";

const pageSize = 1_000;

/** The first pages of the files below a folder, as one list. */
export async function loadFiles(
  session: SessionRef,
  folder: string,
  pages: number,
  signal: AbortSignal,
): Promise<WireFileList> {
  const load = (after?: string) => {
    const prefix = folder === "" ? undefined : folder;
    return getJson<WireFileList>(sessionPath(session, "/files", { prefix, after, limit: pageSize }), { signal });
  };
  let list = await load();
  for (let page = 1; page < pages && list.next !== null; page++) {
    const next = await load(list.next);
    list = { ...next, files: [...list.files, ...next.files] };
  }
  return list;
}
