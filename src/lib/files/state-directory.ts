import { homedir } from "node:os";
import { join } from "node:path";

/**
 * The directory for persistent state: `$XDG_STATE_HOME/codecell`, by default under the home directory. For root it is one that
 * other uids can traverse, because cells of root run under another uid.
 */
export function stateDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  const configured = environment.XDG_STATE_HOME;
  if (configured?.startsWith("/")) return join(configured, "codecell");
  return process.getuid?.() === 0 ? "/var/lib/codecell" : join(homedir(), ".local", "state", "codecell");
}
