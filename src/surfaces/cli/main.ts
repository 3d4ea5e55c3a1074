import type { Logger } from "../../lib/log/logger.ts";
import { codecellVersion } from "../../service/version.ts";
import type { RunnersUse } from "../../sessions/built-in-runners.ts";
import type { Command, CommandContext, CommandEntry } from "./command.ts";
import { commands } from "./commands.ts";
import { commandHelp, overviewHelp } from "./format/help.ts";
import { signalExitCodes } from "./shell/exit-codes.ts";
import { OutputLost } from "./shell/output-lost.ts";
import { processTerminal } from "./shell/process-terminal.ts";

/**
 * The command line: arguments in, exit code out. What only some calls need is imported where it is used, so that the
 * others start fast.
 */
export async function main(
  argv: readonly string[],
  context: CommandContext = { terminal: processTerminal(), ownsProcess: true, runners: runnersHere },
): Promise<number> {
  try {
    return await dispatch(argv, context);
  } catch (error) {
    if (error instanceof OutputLost) return signalExitCodes[error.signal];
    // Search the raw words, because the failure may be that they do not parse.
    const words = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : argv.length);
    const options = { json: words.includes("--json"), verbose: words.includes("--verbose") };
    const { namingOuterSandbox } = await import("../../sessions/outer-sandbox.ts");
    const { reportFailure } = await import("./shell/report-failure.ts");
    return reportFailure(await namingOuterSandbox(error, context.terminal.env), context.terminal, options);
  }
}

async function runnersHere(logger: Logger, use?: RunnersUse) {
  return (await import("../../sessions/built-in-runners.ts")).loadRunners(logger, use);
}

async function dispatch(argv: readonly string[], context: CommandContext): Promise<number> {
  const { stdout, stderr } = context.terminal;
  const [first, ...rest] = argv;
  if (first === "--version" || first === "-V" || first === "version") {
    stdout.write(`codecell ${codecellVersion()}\n`);
    return 0;
  }
  if (first === undefined) {
    stderr.write(overviewHelp(commands));
    return 2;
  }
  if (first === "--help" || first === "-h" || first === "help") {
    stdout.write(rest.length === 0 ? overviewHelp(commands) : await helpFor(rest));
    return 0;
  }
  const [second, ...more] = rest;
  if ((second === "--help" || second === "-h") && more.length === 0 && groupOf(first).length > 0) {
    stdout.write(await helpFor([first]));
    return 0;
  }
  const { entry, args } = await findCommand(argv);
  return perform(await entry.load(), args, context);
}

async function perform(command: Command, args: readonly string[], context: CommandContext): Promise<number> {
  if (!asksForHelp(args, command)) return command.run(args, { ...context, command: command.name, commands });
  context.terminal.stdout.write(commandHelp(command));
  return 0;
}

/** `policy check` has two words, `run` has one. */
async function findCommand(argv: readonly string[]): Promise<{ entry: CommandEntry; args: readonly string[] }> {
  for (const length of [2, 1]) {
    const entry = commands.find(({ name }) => name === argv.slice(0, length).join(" "));
    if (entry !== undefined) return { entry, args: argv.slice(length) };
  }
  const { unknownCommand } = await import("./suggest/unknown-command.ts");
  throw unknownCommand(argv, commands);
}

/** The commands that start with this word, such as those of `policy`. */
function groupOf(word: string): readonly CommandEntry[] {
  return commands.filter(({ name }) => name.startsWith(`${word} `));
}

async function helpFor(words: readonly string[]): Promise<string> {
  const group = groupOf(words[0] ?? "");
  const entries = words.length === 1 && group.length > 0 ? group : [(await findCommand(words)).entry];
  return (await Promise.all(entries.map(({ load }) => load()))).map(commandHelp).join("\n");
}

/** Whether `--help` or `-h` comes before any `--` and is not the value of another option. */
function asksForHelp(args: readonly string[], { options }: Command): boolean {
  const takesValue = (word: string | undefined) =>
    Object.entries(options).some(
      ([name, { type, short }]) =>
        type === "string" && (word === `--${name}` || (short !== undefined && word === `-${short}`)),
    );
  for (const [index, word] of args.entries()) {
    if (word === "--") return false;
    if ((word === "--help" || word === "-h") && !takesValue(args[index - 1])) return true;
  }
  return false;
}
