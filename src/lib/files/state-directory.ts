import { homedir } from "node:os";
import { join } from "node:path";
import { namespaceRoot } from "./namespace-root.ts";

/**
 * The directory for persistent state: `$XDG_STATE_HOME/codecell`, by default under the home directory. For root it is one that
 * other uids can traverse, because cells of root run under another uid. Root of a user namespace has one of its own under the home
 * directory: files in it belong to uids that codecell cannot read outside of such a namespace.
 */
export function stateDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  const configured = environment.XDG_STATE_HOME;
  const name = namespaceRoot() === undefined ? "codecell" : "codecell-users";
  if (configured?.startsWith("/")) return join(configured, name);
  const isRoot = process.getuid?.() === 0 && name === "codecell";
  return isRoot ? "/var/lib/codecell" : join(homedir(), ".local", "state", name);
}
