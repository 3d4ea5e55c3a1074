import { CodecellError, messageOf } from "../../../lib/errors.ts";
import type { RunResult } from "../../../sessions/runs/run.ts";
import type { Session } from "../../../sessions/session.ts";
import type { SnapshotInfo } from "../../../sessions/storage/session-record.ts";
import { errorExitCodes } from "../shell/exit-codes.ts";
import type { Terminal } from "../shell/terminal.ts";

/** The result of saving a session after a run. */
export interface Kept {
  readonly saved: SnapshotInfo | undefined;
  /** why the variables were not saved */
  readonly problem: string | undefined;
  /** exit code for the problem, if the run itself succeeded */
  readonly exitCode: number;
}

const slowMs = 1000;

/** Saves a session after a run. If this takes long, it says so on a terminal. `closed` waits until a session that a signal closes is closed. */
export async function keepSession(
  session: Session,
  result: Pick<RunResult, "state"> & Partial<Pick<RunResult, "id">>,
  terminal: Terminal,
  closed: () => Promise<void>,
): Promise<Kept> {
  if (result.state === "lost") return { saved: undefined, problem: lostText(session), exitCode: 0 };
  if (session.state !== "live") {
    await closed().catch(() => {}); // what is on disk afterwards counts
    return keptAtClosing(session, result.id);
  }
  const slow = setTimeout(() => {
    if (terminal.stderr.isTTY) terminal.stderr.write(`codecell: saving session ${session.id} …\n`);
  }, slowMs);
  try {
    return { saved: await session.save(), problem: undefined, exitCode: 0 };
  } catch (error) {
    await session.managed.end(); // otherwise closing would try to save again
    const known = error instanceof CodecellError ? error : undefined;
    const isExpected = known?.code === "not_supported";
    const hint = known?.hint ? ` (${known.hint})` : "";
    return {
      saved: undefined,
      problem: `the variables were not saved: ${messageOf(error)}${hint}`,
      exitCode: isExpected ? 0 : errorExitCodes[known?.code ?? "internal"],
    };
  } finally {
    clearTimeout(slow);
  }
}

/** A signal closes the session, and closing saves it. */
function keptAtClosing(session: Session, run: number | undefined): Kept {
  const { snapshot: saved } = session.record;
  if (saved !== undefined && run !== undefined && saved.run >= run) return { saved, problem: undefined, exitCode: 0 };
  return { saved: undefined, problem: lostText(session), exitCode: 0 };
}

function lostText({ record: { snapshot } }: Session): string {
  if (snapshot === undefined) return "the variables are lost, and there is no earlier save; files are kept";
  return `the variables are lost; the next run starts from the save after run ${snapshot.run}, and files are kept`;
}
