import { CodecellError } from "../../../lib/errors.ts";
import type { CodeSession } from "../../../sessions/code-session.ts";
import { clipText, runCommand } from "../run-command.ts";

/** The output of one command. A type and not an interface: the SDK's has an index signature. */
export type ShellOutput = {
  stdout: string;
  stderr: string;
  outcome: { type: "timeout" } | { type: "exit"; exitCode: number | null };
};

/** A shell of the OpenAI Agents SDK: fits its interface `Shell` without the package. */
export interface OpenAiShell {
  run(action: {
    commands: string[];
    timeoutMs?: number | undefined;
    maxOutputLength?: number | undefined;
  }): Promise<{ output: ShellOutput[]; maxOutputLength: number }>;
}

/** Characters of each stream, unless the model asks for fewer or more. */
const defaultLength = 16_000;
const maxLength = 200_000;

/**
 * Runs the commands of `shellTool` in bash in a session, one after the other. The files stay, but the directory and the variables of the
 * shell do not. Each command has the timeout that the model asked for, at most the policy's.
 */
export function sessionShell(session: CodeSession): OpenAiShell {
  return {
    run: async ({ commands, timeoutMs, maxOutputLength }) => {
      const length = lengthOf(maxOutputLength);
      const output: ShellOutput[] = [];
      for (const command of commands) output.push(await shellOutput(session, command, timeoutMs, length));
      return { output, maxOutputLength: length };
    },
  };
}

async function shellOutput(
  session: CodeSession,
  command: string,
  timeoutMs: number | undefined,
  length: number,
): Promise<ShellOutput> {
  try {
    const { status, stdout, stderr, exitCode, note } = await runCommand(session, command, timeoutMs);
    const said = note === "" ? "" : `${stderr === "" || stderr.endsWith("\n") ? "" : "\n"}codecell: ${note}\n`;
    return {
      stdout: clipText(stdout, length),
      stderr: `${clipText(stderr, Math.max(0, length - said.length))}${said}`,
      outcome: status === "timeout" ? { type: "timeout" } : { type: "exit", exitCode },
    };
  } catch (error) {
    // Commands before this one have run, so the model must see their output: no exception.
    if (!(error instanceof CodecellError)) throw error;
    return { stdout: "", stderr: `codecell: ${error.message}\n`, outcome: { type: "exit", exitCode: null } };
  }
}

function lengthOf(asked: number | undefined): number {
  return asked === undefined || !(asked > 0) ? defaultLength : Math.min(Math.floor(asked), maxLength);
}
