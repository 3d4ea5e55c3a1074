import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Where what outlives a process is kept: `$XDG_STATE_HOME/codecell`, by default under the home directory. As root it is a
 * place that other uids can pass through, because what runs for root runs under another uid.
 */
export function stateDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  const configured = environment.XDG_STATE_HOME;
  if (configured?.startsWith("/")) return join(configured, "codecell");
  return process.getuid?.() === 0 ? "/var/lib/codecell" : join(homedir(), ".local", "state", "codecell");
}
