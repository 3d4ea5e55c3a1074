import type { Command, CommandContext } from "../command.ts";
import { tokenFacts, tokensText } from "../format/format-tokens.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { withTokens } from "../sessions/open-tokens.ts";
import { tokenOptions } from "../sessions/token-options.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";

const options = { ...tokenOptions, ...commonOptions } as const;

export const tokenLsCommand: Command = {
  name: "token ls",
  summary: "List the tokens of `codecell serve`",
  usage: "codecell token ls [options]",
  options,
  notes: ["In `codecell sessions ls`, the session ids of a token start with its NAMESPACE."],
  examples: [["codecell token ls", "all tokens, without their secrets"]],
  run: runTokenLs,
};

async function runTokenLs(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("token ls", argv, options, 0);
  const tokens = await withTokens(values, terminal, (store) => store.all());
  const { stdout, env } = terminal;
  if (values.json) stdout.write(jsonText({ tokens: tokens.map(tokenFacts) }));
  else stdout.write(tokensText(tokens, Date.now(), styleFor(stdout, env), stdout.columns));
  return 0;
}
