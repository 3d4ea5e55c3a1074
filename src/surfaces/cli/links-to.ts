import type { LocalSession } from "../http/local-links.ts";
import type { DownloadUrl } from "../mcp/sandbox.ts";
import { type StateFlags, stateDirOf } from "./state-dir.ts";
import type { Terminal } from "./terminal.ts";

/** Links to the files of a session, when a service runs over the same state directory. */
export async function linksTo(
  session: LocalSession,
  flags: StateFlags,
  terminal: Terminal,
): Promise<DownloadUrl | undefined> {
  const { localLinks } = await import("../http/local-links.ts");
  return localLinks(stateDirOf(flags, terminal), session);
}
