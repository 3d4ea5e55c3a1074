import { z } from "zod";
import { loadOnce } from "../../lib/load-once.ts";
import { defaultLanguage, languageNames } from "../../policy/languages.ts";
import { toolRunSchema } from "../wire/runs/tool-run.ts";
import { codeDescription, maxTimeoutSeconds, timeoutDescription } from "./code-description.ts";
import { limitsText } from "./policy-facts.ts";
import { sessionArgument } from "./session-argument.ts";
import { defineTool } from "./tool.ts";
import { waitSeconds } from "./wait-seconds.ts";

const running = loadOnce(() => import("../runs/run-code.ts"));

export const runPythonTool = defineTool({
  name: "run_python",
  title: "Run code in a sandbox",
  description: `${codeDescription} Calls to one session take turns.`,
  limits: limitsText,
  input: z.strictObject({
    code: z.string(),
    session_id: sessionArgument.describe(
      'Default: the shared session. "new" starts another one, for independent or parallel work.',
    ),
    language: z.enum(languageNames).default(defaultLanguage),
    timeout: z.number().positive().max(maxTimeoutSeconds).optional().describe(timeoutDescription),
    wait: waitSeconds,
  }),
  output: toolRunSchema,
  effect: "code",
  isMain: true,
  async call({ code, session_id, language, timeout, wait }, sandbox, context) {
    const session = await sandbox.session(session_id);
    const { runCode } = await running();
    return runCode(sandbox, session, { code, language, timeoutSeconds: timeout, waitSeconds: wait }, context);
  },
});
