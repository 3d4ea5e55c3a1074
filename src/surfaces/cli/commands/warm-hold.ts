import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import type { Command, CommandContext } from "../command.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { holdCells } from "../warm/hold-cells.ts";

const options = commonOptions;
const text = z.string().optional();
const maxSettingsBytes = 1024 * 1024;

const settingsSchema = z.strictObject({
  key: z.string().regex(/^[0-9a-f]{24}$/),
  cwd: z.string(),
  flags: z.strictObject({
    ...{ policy: text, runner: text, timeout: text, memory: text, "output-limit": text, "state-dir": text },
  }),
  idle: text,
});

export const warmHoldCommand: Command = {
  name: "warm hold",
  summary: "Keep warm cells for `codecell run --warm`, which starts this command itself",
  usage: "codecell warm hold",
  options,
  notes: [
    "Reads its settings from stdin, as `codecell run --warm` writes them. Exits at once if another process keeps the same cells.",
  ],
  examples: [["codecell run --warm -c 1", "starts it in the background"]],
  run: runWarmHold,
};

async function runWarmHold(argv: readonly string[], context: CommandContext): Promise<number> {
  parseArguments("warm hold", argv, options, 0);
  await holdCells(await readSettings(context), context);
  return 0;
}

async function readSettings({ terminal }: CommandContext) {
  const hint = "use `codecell run --warm`, which starts this command";
  if (terminal.stdin.isTTY) throw new CodecellError("usage", "the settings are missing on stdin", { hint });
  let written = "";
  for await (const chunk of terminal.stdin) {
    written += chunk;
    if (written.length > maxSettingsBytes) break;
  }
  try {
    return settingsSchema.parse(JSON.parse(written));
  } catch (cause) {
    throw new CodecellError("usage", "stdin does not hold the settings of this command", { hint, cause });
  }
}
