import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";

/**
 * Refuses a directory of workspaces that cells cannot reach. Where codecell runs as root, cells have another uid: a parent
 * directory that is closed to other users, such as a home directory, keeps them out.
 */
export async function assertReachable(workspacesDir: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  for (let path = workspacesDir; path !== dirname(path); path = dirname(path)) {
    if (((await stat(path)).mode & 0o001) !== 0) continue;
    throw new CodecellError("usage", `cells cannot reach ${workspacesDir}: ${path} is closed to other users`, {
      hint: `run \`chmod o+x ${path}\`, or choose another state directory`,
    });
  }
}
