import { CodecellError } from "../../../lib/errors.ts";
import { nearest } from "../../../policy/file/suggest.ts";
import type { CommandEntry } from "../command.ts";
import { familiarCommand } from "./familiar-commands.ts";

const programs = /\.(py|sh|bash|js|mjs|ts|r|ipynb)$/i;

/** The error for words that name no command, with the command that was probably meant. */
export function unknownCommand(argv: readonly string[], commands: readonly Pick<CommandEntry, "name">[]) {
  const [first = "", second] = argv;
  if (first.startsWith("-")) {
    const isCode = first === "-c" || first === "--code";
    return new CodecellError("usage", `unexpected option ${JSON.stringify(first)} before the command`, {
      hint: isCode ? "did you mean codecell run -c?" : "`codecell help` lists the commands",
    });
  }
  const group = commands.map(({ name }) => name).filter((name) => name.startsWith(`${first} `));
  const isGroup = group.length > 0;
  if (isGroup && (second === undefined || second.startsWith("-"))) {
    const subcommands = group.map((name) => name.slice(first.length + 1)).join(", ");
    return new CodecellError("usage", `\`codecell ${first}\` needs a subcommand: ${subcommands}`, {
      hint: `\`codecell help ${first}\` shows them`,
    });
  }
  const written = isGroup ? `${first} ${second ?? ""}`.trim() : first;
  const hint = meantBy(argv, commands, isGroup ? group : undefined, {
    written,
    word: (isGroup ? second : first) ?? "",
  });
  return new CodecellError("usage", `unknown command ${JSON.stringify(written)}`, { hint });
}

function meantBy(
  argv: readonly string[],
  commands: readonly Pick<CommandEntry, "name">[],
  group: readonly string[] | undefined,
  { written, word }: { readonly written: string; readonly word: string },
): string {
  const names = commands.map(({ name }) => name);
  const words = argv.slice(0, 2).filter((word, index) => index === 0 || !word.startsWith("-"));
  const familiar = familiarCommand(words, names);
  if (familiar !== undefined) return familiar;
  if (group === undefined && programs.test(written)) return `did you mean codecell run ${written}?`;
  const known = group ?? [...new Set([...names.map((name) => name.split(" ")[0] ?? ""), "help", "version"])];
  const near = nearest(
    word,
    known.map(lastWord).filter((name) => isSafeGuess(word, name)),
  );
  const meant = known.find((name) => lastWord(name) === near);
  return meant === undefined ? `use one of: ${known.join(", ")}` : `did you mean codecell ${meant}?`;
}

function lastWord(name: string): string {
  return name.slice(name.lastIndexOf(" ") + 1);
}

/** Subcommands that delete or end something, or make a token invalid. */
const irrevocable = ["rm", "prune", "stop", "rotate"];

/** Whether it is safe to propose a name. One that deletes is proposed only for its own letters, such as `mr` for `rm`. */
function isSafeGuess(word: string, name: string): boolean {
  return !irrevocable.includes(name) || [...word.toLowerCase()].every((letter) => name.includes(letter));
}
