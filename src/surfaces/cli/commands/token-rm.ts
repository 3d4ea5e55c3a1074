import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { withTokens } from "../sessions/open-tokens.ts";
import { tokenOptions } from "../sessions/token-options.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { needOperand } from "../shell/need-operand.ts";

const options = { ...tokenOptions, ...commonOptions } as const;

export const tokenRmCommand: Command = {
  name: "token rm",
  summary: "Remove a token",
  usage: "codecell token rm NAME [options]",
  options,
  notes: [
    "A running service rejects the token from its next request on, stops its runs and invalidates its links. With a database, another gateway that misses the notification does so within 5 seconds, and one that cannot reach the database within 60.",
    "Saved sessions stay on disk. In `codecell sessions ls` their ids start with the token's namespace.",
  ],
  examples: [["codecell token rm alice", "revoke her access"]],
  run: runTokenRm,
};

async function runTokenRm(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("token rm", argv, options, 1);
  const name = needOperand("token rm", "a NAME", positionals[0], "token");
  await withTokens(values, terminal, (tokens) => tokens.remove(name));
  terminal.stdout.write(values.json ? jsonText({ removed: name }) : `removed ${name}\n`);
  return 0;
}
