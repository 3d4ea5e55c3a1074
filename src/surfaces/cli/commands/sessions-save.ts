import { CodecellError } from "../../../lib/errors.ts";
import { encodeSnapshot } from "../../../service/wire/sessions/snapshot.ts";
import type { Session } from "../../../sessions/session.ts";
import type { Command, CommandContext } from "../command.ts";
import { missingText, snapshotText } from "../format/format-snapshot.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { policyOptions } from "../policy/policy-options.ts";
import { bringBack } from "../sessions/bring-back.ts";
import { withSessions } from "../sessions/with-sessions.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { logOptions } from "../shell/log-options.ts";
import { needOperand } from "../shell/need-operand.ts";
import { stateOptions } from "../shell/state-dir.ts";

const options = {
  force: {
    type: "boolean",
    help: "Save even if variables of the last save could not be restored; those variables are lost.",
  },
  ...policyOptions,
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  verbose: { type: "boolean", help: "Print the policy, the runner and what the flags changed to stderr." },
  ...logOptions,
  ...commonOptions,
} as const;

export const sessionsSaveCommand: Command = {
  name: "sessions save",
  summary: "Load a session into a cell and save it again, listing what can be saved",
  usage: "codecell sessions save ID [options]",
  options,
  notes: ["A save never replaces a more complete one, unless you pass --force."],
  examples: [
    ["codecell sessions save work", "which variables are saved, and their total size"],
    ["codecell sessions save work --runner wasm", "the same, with another runner"],
  ],
  run: runSessionsSave,
};

async function runSessionsSave(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("sessions save", argv, options, 1);
  const id = needOperand("sessions save", "ID", positionals[0]);
  const { stdout, env } = context.terminal;
  return withSessions(values, context, async (sessions) => {
    const session = await sessions.get(id);
    await bringBack(session);
    if (!values.force) refuseLoss(session);
    const snapshot = await session.save();
    if (values.json) stdout.write(jsonText(encodeSnapshot(id, snapshot)));
    else stdout.write(`session ${id} ${snapshotText(snapshot, styleFor(stdout, env))}`);
    return 0;
  });
}

function refuseLoss({ id, restored }: Session): void {
  if (!restored || (restored.problem === undefined && restored.failed.length === 0)) return;
  const what = restored.problem?.message ?? `could not restore ${missingText(restored.failed)}`;
  throw new CodecellError("snapshot_damaged", `session ${id} was not saved again: ${what}`, {
    hint: "the last save is unchanged; use --force to save without the missing variables",
  });
}
