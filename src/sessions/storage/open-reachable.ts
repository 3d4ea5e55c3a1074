import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { SessionStore } from "./store.ts";

/**
 * The store in a state directory, if cells can reach their workspaces in it. Where codecell runs as root, cells have
 * another uid: a parent directory that is closed to other users, such as a home directory, keeps them out.
 */
export async function openReachable(stateDir: string, hasWorkspaces: boolean): Promise<SessionStore> {
  const store = await SessionStore.open(stateDir);
  if (process.getuid?.() !== 0 || !hasWorkspaces) return store;
  for (let path = store.workspacesDir; path !== dirname(path); path = dirname(path)) {
    if (((await stat(path)).mode & 0o001) !== 0) continue;
    throw new CodecellError("usage", `cells cannot reach ${store.workspacesDir}: ${path} is closed to other users`, {
      hint: `run \`chmod o+x ${path}\`, or choose another state directory`,
    });
  }
  return store;
}
