import type { RunResult } from "../../../sessions/runs/run.ts";
import type { Session } from "../../../sessions/session.ts";
import { sessionRemarks } from "../format/format-session-run.ts";
import { safeText } from "../format/text/safe-text.ts";
import { styleFor } from "../format/text/style.ts";
import { keepSession } from "../sessions/keep-session.ts";
import type { Terminal } from "../shell/terminal.ts";

/** Saves a kept session when its repl exits, says what was not saved, and returns the exit code. */
export async function saveAtExit(
  { session, state }: { readonly session: Session; readonly state: RunResult["state"] },
  terminal: Terminal,
): Promise<number> {
  const kept = await keepSession(session, { state }, terminal, () => session.close());
  const mark = styleFor(terminal.stderr, terminal.env).yellow("codecell:");
  const nothing = { artifacts: [], leftOut: [], runner: session.runner };
  for (const remark of sessionRemarks(session.id, nothing, kept, { hasFiles: true })) {
    terminal.stderr.write(`${mark} ${safeText(remark)}\n`);
  }
  return kept.exitCode;
}
