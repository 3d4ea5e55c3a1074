import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { loadOnce } from "../../lib/load-once.ts";
import { defaultLanguage, languageNames } from "../../policy/languages.ts";
import { limitsText } from "../../service/tools/policy-facts.ts";
import { defineTool } from "../../service/tools/tool.ts";
import { toolRunSchema } from "../../service/wire/runs/tool-run.ts";

const running = loadOnce(() => import("../../service/runs/run-code.ts"));

/** The policy ends every run before that, so a call needs no second one to wait for its result. */
const waitSeconds = 86_400;

/** What the model passes, and what an aliased call of Bash passes: `command` and milliseconds. */
export const runInput = z.object({
  code: z.string().optional().describe("The program."),
  language: z.enum(languageNames).default(defaultLanguage),
  timeout: z.number().positive().max(86_400_000).optional().describe("Seconds after which the code is interrupted."),
  command: z.string().optional().describe("Instead of code: a bash command; timeout is then in milliseconds."),
});

/** Runs code in the one session of a query. */
export const runTool = defineTool({
  name: "run",
  title: "Run code in a sandbox",
  description:
    "Run Python (or bash) in an isolated session that keeps variables, imports and files between calls. Returns what it printed, the value of the last expression, shown figures as images, and the names of files it wrote. If it fails, variables are kept: correct the code and call again.",
  limits: limitsText,
  input: runInput,
  output: toolRunSchema,
  effect: "code",
  isMain: true,
  async call({ code, language, timeout, command }, sandbox, context) {
    const program = programOf(code, command);
    const isCommand = code === undefined;
    const timeoutSeconds = isCommand && timeout !== undefined ? timeout / 1000 : timeout;
    const session = await sandbox.session();
    const { runCode } = await running();
    const request = { code: program, language: isCommand ? ("bash" as const) : language, timeoutSeconds, waitSeconds };
    return runCode(sandbox, session, request, context);
  },
});

function programOf(code: string | undefined, command: string | undefined): string {
  const program = code ?? command;
  if (program !== undefined && (code === undefined || command === undefined)) return program;
  throw new CodecellError("usage", "pass either code or command");
}
