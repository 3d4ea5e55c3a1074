import { CodecellError } from "../../../lib/errors.ts";
import type { Command, CommandContext, CommandEntry } from "../command.ts";
import { type Shell, shellScripts, shells } from "../completion/shell-scripts.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";

const options = {
  words: { type: "boolean", help: "Print what completes the last of the words after --; the scripts call this." },
  json: { type: "boolean", help: "With --words, print one JSON object." },
  ...commonOptions,
} as const;

export const completionCommand: Command = {
  name: "completion",
  summary: "Print a script that completes commands, options and names in your shell",
  usage: "codecell completion bash|zsh|fish",
  options,
  notes: [
    "Completes commands, options, their values, names of sessions and files. The script asks codecell itself each time, so it stays right after an update.",
  ],
  examples: [
    ["source <(codecell completion bash)", "in ~/.bashrc"],
    ["source <(codecell completion zsh)", "in ~/.zshrc, after compinit"],
    ["codecell completion fish > ~/.config/fish/completions/codecell.fish", "once"],
    ["codecell completion --words -- run --ru", "what completes `codecell run --ru`"],
  ],
  run: runCompletion,
};

async function runCompletion(argv: readonly string[], { terminal, commands = [] }: CommandContext): Promise<number> {
  const { values, positionals, afterDashes } = parseArguments("completion", argv, options, Number.POSITIVE_INFINITY);
  if (values.words) return completeForShell(afterDashes, commands, values.json === true, terminal);
  const [shell, extra] = positionals;
  if (extra !== undefined) throw new CodecellError("usage", `unexpected argument ${JSON.stringify(extra)}`);
  terminal.stdout.write(shellScripts[parseShell(shell)]);
  return 0;
}

async function completeForShell(
  words: readonly string[],
  commands: readonly CommandEntry[],
  isJson: boolean,
  terminal: CommandContext["terminal"],
): Promise<number> {
  const { completableCommands } = await import("../completion/command-list.ts");
  const { completeWords } = await import("../completion/complete-words.ts");
  const { localNames } = await import("../completion/local-names.ts");
  // Somebody is typing: whatever fails, the shell shows no error and no word.
  const found = await completeWords(words, await completableCommands(commands), localNames(terminal)).catch(
    () => undefined,
  );
  const { kind, candidates } = found ?? { kind: "words", candidates: [] };
  if (isJson) terminal.stdout.write((await import("../format/text/json-text.ts")).jsonText({ kind, candidates }));
  else
    terminal.stdout.write([kind, ...candidates.map(({ value, description }) => `${value}\t${description}`)].join("\n"));
  if (!isJson) terminal.stdout.write("\n");
  return 0;
}

function parseShell(text: string | undefined): Shell {
  const name = text?.split("/").at(-1); // $SHELL is a path
  const shell = shells.find((one) => one === name);
  if (shell !== undefined) return shell;
  const message = text === undefined ? "`codecell completion` needs a shell" : `unknown shell ${JSON.stringify(text)}`;
  throw new CodecellError("usage", message, { hint: `use one of: ${shells.join(", ")}` });
}
