import type { RunOptions } from "../../../sessions/runs/run-options.ts";
import type { Code } from "./read-code.ts";
import type { Terminal } from "./terminal.ts";

/** How a program of the command line runs: with its arguments, its name, and what is piped into the command. */
export function programOptions(code: Code, args: readonly string[], terminal: Terminal): RunOptions {
  return {
    language: code.language,
    ...(args.length > 0 ? { args } : {}),
    ...(code.name === undefined ? {} : { file: code.name }),
    // stdin that held the code has been read to its end
    ...(code.from !== "stdin" && terminal.hasPipedStdin ? { stdin: terminal.stdin } : {}),
  };
}

/** The file to run and the arguments of the program. With `-c`, arguments come after `--`. */
export function fileAndArguments(
  positionals: readonly string[],
  afterDashes: readonly string[],
  hasCode: boolean,
): { readonly file: string | undefined; readonly args: readonly string[] } {
  if (hasCode && positionals.length === afterDashes.length) return { file: undefined, args: afterDashes };
  return { file: positionals[0], args: positionals.slice(1) };
}
