import { CodecellError } from "../../lib/errors.ts";
import { nearest } from "../../policy/file/suggest.ts";
import { codecellVersion } from "../../service/version.ts";
import { builtInRunners } from "../../sessions/built-in-runners.ts";
import { namingOuterSandbox } from "../../sessions/outer-sandbox.ts";
import type { Command, CommandContext } from "./command.ts";
import { commandHelp, overviewHelp } from "./format/help.ts";
import { processTerminal } from "./shell/process-terminal.ts";
import { reportFailure } from "./shell/report-failure.ts";

/** Commands that are loaded alone to start faster: loading the whole list takes 0.1 s. */
const loadedAlone: Readonly<Record<string, () => Promise<Command>>> = {
  run: async () => (await import("./commands/run.ts")).runCommand,
  repl: async () => (await import("./commands/repl.ts")).replCommand,
};

/** The command line: arguments in, exit code out. */
export async function main(
  argv: readonly string[],
  context: CommandContext = { terminal: processTerminal(), runners: builtInRunners },
): Promise<number> {
  try {
    return await dispatch(argv, context);
  } catch (error) {
    // Search the raw words, because the failure may be that they do not parse.
    const words = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : argv.length);
    const options = { json: words.includes("--json"), verbose: words.includes("--verbose") };
    return reportFailure(await namingOuterSandbox(error, context.terminal.env), context.terminal, options);
  }
}

async function dispatch(argv: readonly string[], context: CommandContext): Promise<number> {
  const { stdout, stderr } = context.terminal;
  const [first, ...rest] = argv;
  if (first === "--version" || first === "-V" || first === "version") {
    stdout.write(`codecell ${codecellVersion()}\n`);
    return 0;
  }
  const alone = Object.hasOwn(loadedAlone, first ?? "") ? await loadedAlone[first ?? ""]?.() : undefined;
  if (alone) return perform(alone, rest, context);
  const { commands } = await import("./commands.ts");
  if (first === undefined) {
    stderr.write(overviewHelp(commands));
    return 2;
  }
  if (first === "--help" || first === "-h" || first === "help") {
    stdout.write(rest.length === 0 ? overviewHelp(commands) : helpFor(rest, commands));
    return 0;
  }
  const [second, ...more] = rest;
  if ((second === "--help" || second === "-h") && more.length === 0 && groupOf(first, commands).length > 0) {
    stdout.write(helpFor([first], commands));
    return 0;
  }
  const { command, args } = findCommand(argv, commands);
  return perform(command, args, context);
}

async function perform(command: Command, args: readonly string[], context: CommandContext): Promise<number> {
  if (!asksForHelp(args, command)) return command.run(args, context);
  context.terminal.stdout.write(commandHelp(command));
  return 0;
}

/** `policy check` has two words, `run` has one. */
function findCommand(
  argv: readonly string[],
  commands: readonly Command[],
): { command: Command; args: readonly string[] } {
  for (const length of [2, 1]) {
    const command = commands.find(({ name }) => name === argv.slice(0, length).join(" "));
    if (command !== undefined) return { command, args: argv.slice(length) };
  }
  const [first = "", second] = argv;
  if (first.startsWith("-")) {
    throw new CodecellError("usage", `unexpected option ${JSON.stringify(first)} before the command`, {
      hint: "`codecell help` lists the commands",
    });
  }
  const group = groupOf(first, commands).map(({ name }) => name);
  const isGroup = group.length > 0;
  const written = isGroup ? `${first} ${second ?? ""}`.trim() : first;
  const names = isGroup ? group : commands.map(({ name }) => name.split(" ")[0] ?? "").concat("help", "version");
  const near = nearest(written, names);
  const missing = isGroup && (second === undefined || second.startsWith("-"));
  throw new CodecellError(
    "usage",
    missing
      ? `\`codecell ${first}\` needs a subcommand: ${group.map((name) => name.slice(first.length + 1)).join(", ")}`
      : `unknown command ${JSON.stringify(written)}`,
    {
      hint: missing
        ? `\`codecell help ${first}\` shows them`
        : near === undefined
          ? `use one of: ${[...new Set(names)].join(", ")}`
          : `did you mean codecell ${near}?`,
    },
  );
}

/** The commands that start with this word, such as those of `policy`. */
function groupOf(word: string, commands: readonly Command[]): readonly Command[] {
  return commands.filter(({ name }) => name.startsWith(`${word} `));
}

function helpFor(words: readonly string[], commands: readonly Command[]): string {
  const group = groupOf(words[0] ?? "", commands);
  if (words.length === 1 && group.length > 0) return group.map(commandHelp).join("\n");
  return commandHelp(findCommand(words, commands).command);
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
