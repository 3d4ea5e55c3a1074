import { join } from "node:path";
import { CodecellError } from "../errors.ts";
import { namespaceRoot } from "./namespace-root.ts";
import { userHome } from "./user-home.ts";

/**
 * The directory for persistent state: `$XDG_STATE_HOME/codecell`, by default under the home directory. For root it is one that
 * other uids can traverse, because cells of root run under another uid. Root of a user namespace has one of its own under the home
 * directory: files in it belong to uids that codecell cannot read outside of such a namespace.
 */
export function stateDirectory(
  environment: NodeJS.ProcessEnv = process.env,
  uid = process.getuid?.(),
  findHome = userHome,
): string {
  const configured = environment.XDG_STATE_HOME;
  const name = namespaceRoot(uid) === undefined ? "codecell" : "codecell-users";
  if (configured?.startsWith("/")) return join(configured, name);
  if (uid === 0 && name === "codecell") return "/var/lib/codecell";
  const home = findHome(environment);
  if (home !== undefined) return join(home, ".local", "state", name);
  throw new CodecellError("usage", "there is no directory for saved sessions: this user has no home directory", {
    hint: "set XDG_STATE_HOME or HOME to an absolute path",
  });
}
