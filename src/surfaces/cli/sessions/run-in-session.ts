import type { RunOptions } from "../../../sessions/runs/run-options.ts";
import { checkSessionId } from "../../../sessions/session-id.ts";
import type { CommandContext } from "../command.ts";
import { saveJson, sessionRemarks } from "../format/format-session-run.ts";
import { printRun } from "../format/print-run.ts";
import { jsonText } from "../format/text/json-text.ts";
import { safeText } from "../format/text/safe-text.ts";
import { styleFor } from "../format/text/style.ts";
import { openPlots } from "../plots/open-plots.ts";
import type { PlotFlags } from "../plots/plot-options.ts";
import { printedExitCode, runExitCode } from "../shell/exit-codes.ts";
import { pipeLimit } from "../shell/pipe-limit.ts";
import type { Code } from "../shell/read-code.ts";
import { bringBack } from "./bring-back.ts";
import { keepSession } from "./keep-session.ts";
import { linksTo } from "./links-to.ts";
import { runJson } from "./run-json.ts";
import { missingHint, printHint, projectIn } from "./run-project.ts";
import { type SessionFlags, withSessions } from "./with-sessions.ts";

/** Runs a program in a session on disk: restores the variables of earlier calls, and saves them again. */
export async function runInSession(
  name: string,
  { code, how }: { readonly code: Code; readonly how: RunOptions },
  flags: SessionFlags & PlotFlags & { readonly json?: boolean | undefined; readonly receipt?: boolean | undefined },
  context: CommandContext,
): Promise<number> {
  const { terminal } = context;
  const id = checkSessionId(name);
  await using plots = await openPlots(flags, terminal, id);
  return await withSessions(flags, context, async (sessions, interruption) => {
    const session = await sessions.session(id);
    await bringBack(session);
    const limit = flags.json || flags["output-limit"] !== undefined ? {} : pipeLimit(session.policy, terminal.stdout);
    const project = flags.projectDir === undefined ? {} : await projectIn(session, flags.projectDir, code);
    const run = session.run(code.text, { ...how, ...limit, ...project, isStreamed: !flags.json });
    interruption.watch(run);
    const expectedNote = session.restored?.note;
    const options = {
      showResult: code.from !== "file",
      hasNext: true,
      expectedNote,
      showReceipt: flags.receipt,
      plots,
      lostOutput: () => interruption.lostOutput,
    };
    const result = flags.json ? await run : await printRun(run, terminal, options);
    interruption.watch(undefined);
    const kept = await keepSession(session, result, terminal, () => sessions.close());
    const runCode = flags.json ? runExitCode(result) : printedExitCode(result, terminal.stdout);
    const hint = await missingHint(result, flags, code, session.policy);
    if (flags.json) {
      const { workspace } = session.record;
      const downloadUrl = result.artifacts.length === 0 ? undefined : await linksTo({ id, workspace }, flags, terminal);
      terminal.stdout.write(
        jsonText({ ...(await runJson(result, { id, plots, hint, downloadUrl })), save: saveJson(id, kept) }),
      );
    } else {
      printHint(hint, terminal);
      const style = styleFor(terminal.stderr, terminal.env);
      const hasFiles = sessions.choice.runner.takesWorkspace;
      for (const remark of sessionRemarks(id, result, kept, { hasFiles })) {
        terminal.stderr.write(`${style.yellow("codecell:")} ${safeText(remark)}\n`);
      }
    }
    return runCode || kept.exitCode || plots.exitCode;
  });
}
