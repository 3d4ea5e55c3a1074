import type { Command, CommandContext } from "../command.ts";
import { tokenJson, tokenText } from "../format/format-tokens.ts";
import { withTokens } from "../sessions/open-tokens.ts";
import { tokenOptions } from "../sessions/token-options.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { needOperand } from "../shell/need-operand.ts";

const options = { ...tokenOptions, ...commonOptions } as const;

export const tokenRotateCommand: Command = {
  name: "token rotate",
  summary: "Give a token a new secret",
  usage: "codecell token rotate NAME [options]",
  options,
  notes: ["The token keeps its sessions. The old secret stops working at once, also in a running service."],
  examples: [["codecell token rotate alice", "after her secret has leaked"]],
  run: runTokenRotate,
};

async function runTokenRotate(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("token rotate", argv, options, 1);
  const name = needOperand("token rotate", "a NAME", positionals[0], "token");
  const made = await withTokens(values, terminal, (tokens) => tokens.rotate(name));
  terminal.stdout.write(values.json ? tokenJson(made) : tokenText(made));
  return 0;
}
