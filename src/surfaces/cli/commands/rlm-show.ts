import { resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { readTrajectory, trajectoryPage, trajectoryTree } from "../../../service/rlm/trajectory-files.ts";
import type { Command, CommandContext } from "../command.ts";
import { trajectoryText } from "../format/format-trajectory.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { writeToFile } from "../sessions/write-artifact.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";

const options = {
  full: { type: "boolean", help: "Show all lines of code and output, and all sub-calls." },
  html: { type: "string", value: "FILE", help: "Write one self-contained HTML page instead." },
  force: { type: "boolean", help: "Overwrite the HTML file if it exists." },
  json: { type: "boolean", help: "Print the tree as one JSON object." },
  ...commonOptions,
} as const;

export const rlmShowCommand: Command = {
  name: "rlm show",
  summary: "Show a recorded recursive run as a tree, or as one HTML page",
  usage: "codecell rlm show FILE [--html FILE] [options]",
  options,
  notes: [
    "Works offline and starts no process. Exit code: 0 if the trajectory is as it was written; 1 if a line was changed, removed or moved; 2 for a usage error. " +
      "Lines that were removed at the end are found only by the last hash: keep it elsewhere.",
    "The page holds no script, loads nothing, and shows everything that models and programs wrote as text.",
  ],
  examples: [
    ["codecell rlm show run.jsonl", "the tree of turns, code, output and sub-calls, with the cost of each"],
    ["codecell rlm show run.jsonl --html run.html", "a page with a timeline, to open in a browser or to send"],
    ["codecell rlm show run.jsonl --json", "the tree for programs"],
  ],
  run: runRlmShow,
};

async function runRlmShow(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("rlm show", argv, options, 1);
  const [file] = positionals;
  if (file === undefined) {
    throw new CodecellError("usage", "`codecell rlm show` needs FILE", {
      hint: "name the trajectory of a run; without --trajectory, they are in trajectories/ in the state directory",
    });
  }
  if (values.html !== undefined && values.json) {
    throw new CodecellError("usage", "--html and --json cannot be combined", { hint: "call the command twice" });
  }
  using interruption = new Interruption(terminal);
  const { events, ...trajectory } = await readTrajectory(resolve(terminal.cwd, file));
  const tree = trajectoryTree(events);
  if (!tree) {
    throw new CodecellError("usage", `${file} holds no run`, { hint: "its first event must be run_start" });
  }
  const { stdout, stderr, env } = terminal;
  const isIntact = trajectory.problem === undefined;
  if (values.json) {
    stdout.write(jsonText({ ...tree, ...trajectory, intact: isIntact }));
  } else if (values.html !== undefined) {
    const page = [Buffer.from(trajectoryPage(tree, trajectory))];
    const path = resolve(terminal.cwd, values.html);
    const { signal } = interruption;
    await writeToFile(asyncOf(page), path, { force: values.force ?? false, signal, shown: values.html });
    stderr.write(`wrote ${values.html}\n`);
  } else {
    const style = styleFor(stdout, env);
    stdout.write(trajectoryText(tree, trajectory, { style, width: stdout.columns, isFull: values.full ?? false }));
  }
  return interruption.exitCode ?? (isIntact ? 0 : 1);
}

async function* asyncOf(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
