import { CodecellError } from "../../../lib/errors.ts";
import { closedDirectory } from "../../../lib/files/closed-directory.ts";

/**
 * Refuses a directory of workspaces that cells cannot reach. Where codecell runs as root, cells have another uid: a parent
 * directory that is closed to other users, such as a home directory, keeps them out.
 */
export async function assertReachable(workspacesDir: string): Promise<void> {
  const closed = process.getuid?.() === 0 ? await closedDirectory(workspacesDir) : undefined;
  if (closed === undefined) return;
  throw new CodecellError("usage", `cells cannot reach ${workspacesDir}: ${closed} is closed to other users`, {
    hint: `run \`chmod o+x ${closed}\`, or choose another state directory`,
  });
}
