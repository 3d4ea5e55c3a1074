import { join } from "node:path";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { warmDirectory } from "../../../lib/files/warm-directory.ts";
import type { RunOptions } from "../../../sessions/runs/run-options.ts";
import { plotSettings } from "../plots/open-plots.ts";
import type { PlotFlags } from "../plots/plot-options.ts";
import type { PolicyFlags } from "../policy/policy-options.ts";
import type { LogFlags } from "../shell/log-options.ts";
import type { Code } from "../shell/read-code.ts";
import type { StateFlags } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";
import { callHolder } from "./call-holder.ts";
import type { HolderSettings } from "./holder-settings.ts";
import { warmKey } from "./warm-key.ts";
import type { RunRequest } from "./warm-request.ts";

export type WarmAttempt =
  | { readonly kind: "ran"; readonly exitCode: number }
  /** the call runs the ordinary way, and then starts a holder */
  | { readonly kind: "absent"; readonly holder: HolderSettings }
  /** the call runs the ordinary way, and so would the next one */
  | { readonly kind: "unusable" };

interface WarmFlags extends PolicyFlags, StateFlags, LogFlags, PlotFlags {
  readonly session?: string | undefined;
  readonly json?: boolean | undefined;
  readonly receipt?: boolean | undefined;
}

/** Runs a program in a warm cell, if a holder of such cells is there for this policy. Otherwise says why on a terminal. */
export async function runWarm(
  program: { readonly code: Code; readonly how: RunOptions },
  flags: WarmFlags,
  terminal: Terminal,
): Promise<WarmAttempt> {
  const directory = warmDirectory(process.getuid?.() ?? 0, terminal.env.XDG_RUNTIME_DIR);
  const obstacle = obstacleOf(flags, terminal.env);
  if (obstacle !== undefined || directory === undefined) {
    return tell(terminal, obstacle ?? "XDG_RUNTIME_DIR is not set", { kind: "unusable" });
  }
  try {
    const idle = terminal.env.CODECELL_WARM_IDLE || undefined;
    const holder = { key: warmKey(flags, terminal), cwd: terminal.cwd, flags: holderFlags(flags), idle };
    const reply = await callHolder(
      join(directory, `${holder.key}.sock`),
      requestOf(program, flags, terminal),
      terminal,
    );
    if (reply.kind === "exited") return { kind: "ran", exitCode: reply.exitCode };
    if (reply.kind === "refused") return tell(terminal, reply.reason, { kind: "unusable" });
    const news = "the background process is not running yet; it starts after this call";
    return tell(terminal, news, { kind: "absent", holder });
  } catch (error) {
    // An error with a code is about the run itself. Whatever else fails here, the ordinary way still works.
    if (error instanceof CodecellError) throw error;
    return tell(terminal, messageOf(error), { kind: "unusable" });
  }
}

/** Why a warm cell cannot do what these flags ask for. */
function obstacleOf(flags: WarmFlags, env: Terminal["env"]): string | undefined {
  if (flags.session !== undefined) return "--session has a cell of its own";
  if (flags.mount !== undefined || flags.workspace !== undefined || flags.projectDir !== undefined) {
    return "a cell sees host directories as they were when it started";
  }
  const logs = [flags["log-level"], flags["log-format"], flags["log-file"]].some((flag) => flag !== undefined);
  const logVariables = [env.CODECELL_LOG, env.CODECELL_LOG_FORMAT, env.CODECELL_LOG_FILE].some(Boolean);
  return flags.verbose || logs || logVariables ? "--verbose and the log need a cell of this call" : undefined;
}

function holderFlags(flags: WarmFlags): HolderSettings["flags"] {
  const { policy, runner, timeout, memory, "output-limit": limit, "state-dir": state } = flags;
  return { policy, runner, timeout, memory, "output-limit": limit, "state-dir": state };
}

function requestOf(
  { code, how }: { readonly code: Code; readonly how: RunOptions },
  flags: WarmFlags,
  terminal: Terminal,
): RunRequest {
  const { stdout, stderr, env } = terminal;
  const { named, stateDir, images } = plotSettings(flags, terminal);
  const columns = (width: number) => (Number.isFinite(width) ? width : null);
  return {
    ask: "run",
    ...{ code: code.text, from: code.from, language: code.language, hasStdin: how.stdin !== undefined },
    ...(how.file === undefined ? {} : { file: how.file }),
    ...(code.beside === undefined ? {} : { beside: code.beside }),
    ...(how.args === undefined ? {} : { args: [...how.args] }),
    ...{ json: flags.json === true, receipt: flags.receipt === true },
    plots: { ...(named ? { named } : {}), stateDir, images },
    hasColor: !env.NO_COLOR && env.TERM !== "dumb",
    stdout: { isTTY: stdout.isTTY, columns: columns(stdout.columns) },
    stderr: { isTTY: stderr.isTTY, columns: columns(stderr.columns) },
  };
}

function tell<Attempt extends WarmAttempt>({ stderr }: Terminal, why: string, attempt: Attempt): Attempt {
  if (stderr.isTTY) stderr.write(`codecell: no warm cell: ${why.replace(/[^\x20-\x7e]/g, "?")}\n`);
  return attempt;
}
