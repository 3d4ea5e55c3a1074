import { CodecellError } from "../../../lib/errors.ts";
import { closedDirectory } from "../../../lib/files/closed-directory.ts";
import type { CellUsers } from "./cell-users.ts";

/** Refuses a runtime directory that cells of root, which have another uid, cannot enter: they could not read their own files. */
export async function assertEnterable(runtimeDir: string, users: CellUsers | undefined): Promise<void> {
  const closed = users && (await closedDirectory(runtimeDir));
  if (closed === undefined) return;
  throw new CodecellError("cell_start_failed", `cells cannot reach ${runtimeDir}: ${closed} is closed to other users`, {
    hint: `run \`chmod o+x ${closed}\`, or choose another runtime directory`,
  });
}
