import { parsePolicy } from "../dist/index.js";
import { processRunner } from "../dist/runners/process/runner.js";
import { LiveSessions } from "../dist/sessions/live-sessions.js";
import { openAudit } from "../dist/sessions/open-audit.js";

/** A codecell on the process runner, for measuring. */
export function openProcess(policy = {}, options = {}) {
  return LiveSessions.open({ policy: parsePolicy(policy), runners: [processRunner(options)] });
}

/** The same with an audit in a state directory. */
export async function openAudited(stateDir, policy) {
  const parsed = parsePolicy(policy);
  const audit = openAudit(parsed, { stateDir });
  const codecell = await LiveSessions.open({ policy: parsed, runners: [processRunner()], audit });
  return {
    codecell,
    async close() {
      await codecell.close();
      await audit[Symbol.asyncDispose]();
    },
  };
}
