import { z } from "zod";
import { loadOnce } from "../../lib/load-once.ts";
import { defaultLanguage, languageNames } from "../../policy/languages.ts";
import type { Sandbox } from "../sandbox.ts";
import { toolRunSchema } from "../wire/runs/tool-run.ts";
import { codeDescription, maxTimeoutSeconds, pythonDescription, timeoutDescription } from "./code-description.ts";
import { limitsText } from "./policy-facts.ts";
import { sessionArgument } from "./session-argument.ts";
import { defineTool, type ToolContext } from "./tool.ts";
import { waitSeconds } from "./wait-seconds.ts";

const running = loadOnce(() => import("../runs/run-code.ts"));

const input = z.strictObject({
  code: z.string(),
  session_id: sessionArgument.describe(
    'Default: the shared session. "new" starts another one, for independent or parallel work.',
  ),
  language: z.enum(languageNames).default(defaultLanguage),
  timeout: z.number().positive().max(maxTimeoutSeconds).optional().describe(timeoutDescription),
  wait: waitSeconds,
});

const turns = "Calls to one session take turns.";
const common = {
  name: "run_python",
  title: "Run code in a sandbox",
  limits: limitsText,
  output: toolRunSchema,
  effect: "code",
  isMain: true,
} as const;

export const runPythonTool = defineTool({
  ...common,
  description: `${codeDescription} ${turns}`,
  input,
  call: run,
});

/** For cells without bash. */
export const runPythonOnlyTool = defineTool({
  ...common,
  description: `${pythonDescription} ${turns}`,
  input: input.omit({ language: true }),
  call: (args, sandbox, context) => run({ ...args, language: defaultLanguage }, sandbox, context),
});

async function run(args: z.output<typeof input>, sandbox: Sandbox, context: ToolContext) {
  const { code, session_id, language, timeout, wait } = args;
  const session = await sandbox.session(session_id);
  const { runCode } = await running();
  return runCode(sandbox, session, { code, language, timeoutSeconds: timeout, waitSeconds: wait }, context);
}
