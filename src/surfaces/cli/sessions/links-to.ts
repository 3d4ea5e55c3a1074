import type { LocalSession } from "../../../service/links/local-links.ts";
import type { DownloadUrl } from "../../../service/sandbox.ts";
import { type StateFlags, stateDirOf } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";

/** Links to the files of a session, if a service is running on the same state directory. */
export async function linksTo(
  session: LocalSession,
  flags: StateFlags,
  terminal: Terminal,
): Promise<DownloadUrl | undefined> {
  const { localLinks } = await import("../../../service/links/local-links.ts");
  return localLinks(stateDirOf(flags, terminal), session);
}
