import { extname } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { defaultLanguage, languageNames } from "../../../policy/languages.ts";
import type { Command, CommandContext } from "../command.ts";
import { hasPackageFlags, type PackageFlags, packageOptions } from "../packages/package-options.ts";
import { plotOptions } from "../plots/plot-options.ts";
import { policyOptions } from "../policy/policy-options.ts";
import { projectDirectory, projectOptions } from "../project/project.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { logOptions } from "../shell/log-options.ts";
import { fileAndArguments, programOptions } from "../shell/program-options.ts";
import { type Code, readCode } from "../shell/read-code.ts";
import { stateOptions } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";

const options = {
  code: { type: "string", short: "c", value: "CODE", help: "Code to run, instead of a file." },
  language: {
    type: "string",
    short: "l",
    value: languageNames.join("|"),
    help: `Language of the code. Default: by the file's extension, else ${defaultLanguage}.`,
  },
  session: {
    type: "string",
    value: "NAME",
    help: "Run in a named session, which keeps variables, history and files for the next call.",
  },
  warm: { type: "boolean", help: "Use a cell that a background process keeps ready. Also: CODECELL_WARM=1." },
  ...packageOptions,
  output: { type: "string", short: "o", value: "FILE", help: "Of a notebook: where to write it with its outputs." },
  inplace: { type: "boolean", help: "Of a notebook: write the outputs into the notebook itself." },
  "allow-errors": { type: "boolean", help: "Of a notebook: continue after a cell that raises an exception." },
  ...projectOptions,
  ...plotOptions,
  ...policyOptions,
  ...stateOptions,
  receipt: { type: "boolean", help: "Print to stderr what enforced the most important rules." },
  json: { type: "boolean", help: "Print one JSON object at the end instead of streaming output." },
  verbose: { type: "boolean", help: "Print the policy, the runner and what the flags changed to stderr." },
  ...logOptions,
  ...commonOptions,
} as const;

export const runCommand: Command = {
  name: "run",
  summary: "Run a program in a fresh cell or in a named session",
  usage: "codecell run [FILE | - | -c CODE] [options] [--] [ARGUMENTS]",
  options,
  notes: [
    "Output is streamed. With -c or stdin, the value of the last expression is printed; with a file it is not.",
    "What is piped or redirected into the command is the program's stdin, unless it is the code. The words after FILE, or after " +
      "--, are the program's arguments. Put -- before arguments that start with a dash.",
    "Exit code: 0 success, 1 the program failed (or the program's own code), 2 usage error, 3 refused by policy, 4 runner unavailable, " +
      "70 internal error, 75 session in use, 124 timed out, 130 interrupted, 137 out of memory.",
    "A pipe or a file gets up to 64 MiB of output, unless the policy or --output-limit sets another limit. If a part of the " +
      "output or of the value is missing there, the exit code is 1 and stderr says how much.",
    "Ctrl-C interrupts the program; a second Ctrl-C kills it.",
    "With --session, the variables are saved before the command exits. Variables that cannot be saved or restored are " +
      "listed on stderr. A session takes one call at a time; another call meanwhile is refused (exit code 75).",
    "--with, --requirements and a PEP 723 header of FILE or stdin install packages from the index that your pip uses: wheels only, " +
      "downloaded and checked by the host, cached, and read-only at /deps. The policy's rules about packages apply.",
    "A notebook (FILE.ipynb) is run cell by cell up to the first error. It and its outputs are written to FILE.executed.ipynb beside " +
      "it, even if a cell failed. --timeout applies to each cell.",
    "With --warm, the first call starts a background process that keeps cells of the same policy ready for the next calls, and " +
      "exits after 5 minutes without one. `codecell warm status` lists these processes, `codecell warm stop` stops them.",
    "A program sees no file of the host. With --project DIR it can import and open what is in DIR by relative names, read-only; " +
      "new files are written to the workspace. --runner wasm copies DIR into memory: up to 1000 files and 32 MiB.",
    "Plots are saved, and the path is printed; kitty, iTerm2 and terminals with sixels also show them. Without --plots, only " +
      "pictures are saved: with --session beside the session, otherwise below the state directory for the last 20 runs.",
  ],
  examples: [
    ["codecell run script.py", "run a file"],
    ["codecell run -c 'sum(range(10))'", "run one line and print its value"],
    ["codecell run script.py -- --verbose < data.csv", "with an argument, and with a file as its stdin"],
    ["cat script.py | codecell run -", "run code from stdin"],
    ["codecell run job.sh --timeout 2m --mount ./data:/data", "run bash with a read-only directory at /data"],
    ["codecell run --with pandas==2.2.3 --with requests report.py", "with packages from an index"],
    ["codecell run --requirements requirements.txt main.py", "with the packages of a file"],
    ["codecell run --session work -c 'x = 1'", "keep x for the next call with --session work"],
    ["codecell run analysis.ipynb", "run a notebook and write analysis.executed.ipynb"],
    ["codecell run --warm -c '1 + 1'", "use a cell that is already running, from the second call on"],
    ["codecell run script.py --project .", 'let it `import helper` and open("data.csv") from this directory'],
    ["codecell run plot.py --plots out", "save plots and tables as out/plot-1.png, out/plot-2.html …"],
    ["codecell run --receipt script.py", "also print what enforced the policy"],
    ["codecell run -c '1/0' --json", "print one JSON object, for programs"],
  ],
  run: runProgram,
};

async function runProgram(argv: readonly string[], context: CommandContext): Promise<number> {
  const { terminal } = context;
  const parsed = parseArguments("run", argv, options, Number.POSITIVE_INFINITY, { forProgram: true });
  const { values: typed, positionals, afterDashes } = parsed;
  const { file, args } = fileAndArguments(positionals, afterDashes, typed.code !== undefined);
  const projectDir = projectDirectory(typed.project, terminal);
  if (file !== undefined && typed.code === undefined && extname(file).toLowerCase() === ".ipynb") {
    const { runNotebook } = await import("../notebook/run-notebook.ts");
    return runNotebook(file, args, { ...typed, packages: await packagesOf(typed, terminal), projectDir }, context);
  }
  refuseNotebookFlags(typed);
  const code = await readCode(file, typed, terminal);
  const values = { ...typed, packages: await packagesOf(typed, terminal, code), projectDir };
  const program = { code, how: programOptions(code, args, terminal) };
  const warm = values.warm || terminal.env.CODECELL_WARM === "1";
  const attempt = warm ? await (await import("../warm/run-warm.ts")).runWarm(program, values, terminal) : undefined;
  if (attempt?.kind === "ran") return attempt.exitCode;
  if (values.session !== undefined) {
    const { runInSession } = await import("../sessions/run-in-session.ts");
    return runInSession(values.session, program, values, context);
  }
  // Imported here, because a call that uses a warm cell needs nothing of it.
  const { runInFreshCell } = await import("../sessions/run-in-fresh-cell.ts");
  return runInFreshCell(program, values, context, attempt?.kind === "absent" ? attempt.holder : undefined);
}

/** Imported only where packages are asked for: most calls ask for none. */
async function packagesOf(flags: PackageFlags, terminal: Terminal, code?: Code) {
  if (!hasPackageFlags(flags) && !(code && code.from !== "argument" && code.text.includes("# /// script")))
    return undefined;
  const { requestedPackages } = await import("../packages/requested-packages.ts");
  return requestedPackages(flags, terminal, code);
}

function refuseNotebookFlags(values: Readonly<Record<string, unknown>>): void {
  const flag = ["output", "inplace", "allow-errors"].find((name) => values[name] !== undefined);
  if (flag === undefined) return;
  throw new CodecellError("usage", `--${flag} is for notebooks, whose names end in .ipynb`, {
    hint:
      flag === "output"
        ? "redirect the output with >FILE, or copy a file with `codecell artifacts get`"
        : "leave it out",
  });
}
